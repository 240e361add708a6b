// A row: one configuration of a study and its results. A row is a plain value that can be written to a file, a database
// or a message to another machine, and reads back as the same row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

enum class RowState {
  done,     ///< forecast
  refused,  ///< the configuration is inconsistent or does not fit in memory; `why` is the reason
  not_run   ///< not yet forecast, because the work was interrupted
};
template <>
struct EnumNames<RowState> {
  static constexpr std::array<std::string_view, 3> names{"done", "refused", "not_run"};
};

/// The result for one size of a collective. Times are in us, rates in GB/s, rounded to 10 digits.
struct SizeResult {
  std::int64_t bytes = 0;
  double time = 0, time_p95 = 0, time_worst = 0;  ///< median, p95 and maximum over samples
  double interval = 1;                            ///< 90 % interval: time / interval to time x interval; 1: unknown
  double bus_bandwidth = 0;
  std::string algorithm, protocol, bottleneck;
};

struct SweepRow {
  std::size_t row = 0;  ///< number in the study, from 0
  RowState state = RowState::not_run;
  std::string why;                            ///< the reason of a refused row
  std::vector<std::optional<double>> values;  ///< indexed as metrics(); empty unless done
  std::vector<SizeResult> sizes;              ///< of a collective, one for each size
};

/// The row as one line of JSON for `row_from_json`. This is the format of messages between ranks, not of reports.
std::string row_to_json(const SweepRow& row);
/// Reads a row. \throws InternalError if the text was not written by `row_to_json` of the same version
SweepRow row_from_json(const std::string& text);

}  // namespace fabricast
