// An interval as OpenMetrics text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector.hpp"

namespace fabricast::live {

/// What a healthy cluster gives, as bus bandwidths in bytes per second.
struct Expected {
  double bandwidth = 0;  ///< the forecast
  double factor = 1;     ///< the 90 % interval is from bandwidth / factor to bandwidth x factor
  double floor = 0;      ///< that a healthy cluster misses with the stated probability
};
/// Null where nothing is expected, as for communicators that are not whole nodes.
using ExpectedOf = std::function<std::optional<Expected>(CollectiveOp op, std::int64_t bytes, int ranks, int nodes)>;

/// \pre the interval has not been finished
std::string open_metrics(const WatchInterval& interval, const std::vector<JobFinding>& findings,
                         const WatchCounts& counts, const ExpectedOf& expected);

}  // namespace fabricast::live
