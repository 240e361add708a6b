// How the slices of a channel depend on each other, and so how long it takes: one file and one line in timings.inc for
// each kind. An algorithm names the kind in its stream (collective/schedule.hpp); many may share one.
#pragma once

#include <span>
#include <string_view>

#include "channel_time.hpp"
#include "fabricast/collective/schedule.hpp"
#include "paths.hpp"

namespace fabricast {

struct Timing {
  std::string_view name;
  std::string_view summary;
  /// s; of a channel whose slices have their true size (scale 1) or are empty (scale 0). Null: it is timed as a whole.
  double (*makespan)(const Services&, const Stream&, double scale) = nullptr;
  Services::Looks looks = Services::Looks::at_edges;
  /// s; what calls back to back take longer than the busiest station works; null: nothing.
  double (*skew)(const Services&, const Stream&) = nullptr;
  /// In place of `makespan`: fills in the time, and how it divides into latency and transfer.
  void (*time_whole)(const ChannelView&, const Stream&, ChannelTime&) = nullptr;
  void (*split_whole)(const ChannelView&, const Stream&, ChannelTime&) = nullptr;
};

std::span<const Timing> timings();
/// \pre there is one of this name
const Timing& find_timing(std::string_view name);

/// Slices of a share of their true size (scale 1) or empty (scale 0).
SliceBytes slice_bytes(const Stream& stream, double scale);
/// As many slices along a path as the stream has.
double makespan_of(Pipeline path, const Stream& stream);
/// The makespan of a timing whose slices go along one path, as `Timing::makespan` has it.
/// \tparam path  (Services, SliceBytes) -> Pipeline
template <auto path>
double makespan_along(const Services& services, const Stream& stream, double scale) {
  return makespan_of(path(services, slice_bytes(stream, scale)), stream);
}
/// Latency and transfer overlap. The larger one counts in full, the other one for what it adds.
void split_overlapping(ChannelTime& time);

}  // namespace fabricast
