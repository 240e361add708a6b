// The table of timings by name, and functions that several of them share. Latency L and transfer X of a makespan T
// overlap. Reports show
//
//   larger of L and X,    smaller' = min( smaller, T - larger ),    fill = T - larger - smaller'                    (1)
//
// so that the parts add up to T, and the bottleneck is shown in full.
#include "timing.hpp"

#include <algorithm>
#include <array>

#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"

namespace fabricast {

#define FABRICAST_TIMING(name) Timing name();
#include "timings.inc"
#undef FABRICAST_TIMING

std::span<const Timing> timings() {
  // Built from one list, so that a new timing takes one file and one line.
  static const std::array table = {
#define FABRICAST_TIMING(name) name(),
#include "timings.inc"
#undef FABRICAST_TIMING
  };
  return table;
}

const Timing& find_timing(std::string_view name) {
  const Timing* timing = find_by_name(timings(), name);
  FABRICAST_CHECK(timing, "a stream names a timing that is not in timings.inc");
  return *timing;
}

SliceBytes slice_bytes(const Stream& stream, double scale) {
  const double tail = static_cast<double>(stream.tail_slice) * scale;
  // Small messages have only the last, shorter loop. Its slices then count as whole ones.
  const double slices = static_cast<double>(stream.loops * stream.slices + stream.tail_slices);
  return {stream.loops > 0 ? static_cast<double>(stream.slice) * scale : tail, tail, slices};
}

double makespan_of(Pipeline path, const Stream& stream) {
  path.slots = stream.slots;
  path.slices = stream.loops * stream.slices;
  path.tails = stream.tail_slices;
  return pipeline_makespan(path);
}

void split_overlapping(ChannelTime& t) {
  double& smaller = t.latency > t.transfer ? t.transfer : t.latency;
  smaller = std::min(smaller, t.makespan - std::max(t.latency, t.transfer));
}

}  // namespace fabricast
