// What pages of forecasts have in common.
#pragma once

#include <string>
#include <vector>

#include "fabricast/page/report_page.hpp"

namespace fabricast {

inline constexpr double interval_part = 0.9;  ///< of measurements that lie in an interval

/// Three digits and a unit of its size.
inline std::string seconds_text(double s) { return value_text(s, Measure::seconds, {}, 3); }

/// A value with its interval from value / factor to value x factor; a factor of 1 or less: none known.
TableCell with_factor(double value, double factor);

/// Of several draws: how the values lie, and the chart of it.
PageSection samples_section(const std::vector<double>& seconds, const std::string& what);

/// Exchanges of a step, alone and beside others.
PageTable collective_page_table(const Program& program, const std::vector<CollectiveUse>& collectives);

/// What a GPU of each stage holds; the mark is what there is. \param stages  not empty
BarChart memory_chart(const std::vector<MemoryUse>& stages, double capacity);

/// So many of `count` that all are drawn in reason: the first, the last, and evenly between.
std::vector<std::size_t> some_of(std::size_t count, std::size_t most = 16);

}  // namespace fabricast
