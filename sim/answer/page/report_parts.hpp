// Blocks and texts that the pages of forecasts share.
#pragma once

#include <string>
#include <vector>

#include "fabricast/page/report_page.hpp"

namespace fabricast {

/// Samples of which two are among the slowest twentieth. With fewer, pages do not speak of one in twenty.
inline constexpr std::size_t least_for_twentieth = 40;
inline constexpr double interval_part = 0.9;  ///< fraction of measured values that lie within an interval

/// Three digits with a unit that fits the value: `12.5 us`.
inline std::string seconds_text(Seconds t) { return value_text(t.value, Measure::seconds, {}, 3); }
inline std::string range_text(Seconds low, Seconds high) { return range_text(low.value, high.value, Measure::seconds); }

/// A value with the interval from value / factor to value x factor. A factor of 1 or less means that no interval is
/// known.
TableCell with_factor(double value, double factor);

/// The distribution over samples: percentiles in a sentence, and the chart `samples`.
/// \param what  the subject of the sentence, e.g. `The step`. \pre `times` is not empty
PageSection samples_section(const std::vector<Seconds>& times, const std::string& what);

/// The collectives of a step: each alone, and its slowdown by the step's other collectives.
PageTable collective_page_table(const Program& program, const std::vector<CollectiveUse>& collectives);

/// Memory use of a GPU of each stage in GiB; the mark is the capacity. \pre `stages` is not empty
BarChart memory_chart(const std::vector<MemoryUse>& stages, Bytes capacity);

/// Indices of at most `most` of `count` items: the first, the last, and evenly spaced ones between.
std::vector<std::size_t> some_of(std::size_t count, std::size_t most = 16);

}  // namespace fabricast
