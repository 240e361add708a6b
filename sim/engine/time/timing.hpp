// Timings: how the slices of a channel depend on each other, and therefore how long it takes. Each timing is one file
// and one line in timings.inc. An algorithm names its timing in its stream (collective/schedule.hpp); several may share
// one.
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
  /// s; makespan of a channel whose slices have their true size (scale 1) or are empty (scale 0). Null: use
  /// `time_whole`.
  double (*makespan)(const Services&, const Stream&, double scale) = nullptr;
  Services::Looks looks = Services::Looks::at_edges;
  /// s; for calls issued back to back, the time per call in excess of the work of the busiest station. Null: none.
  double (*skew)(const Services&, const Stream&) = nullptr;
  /// Instead of `makespan`: `time_whole` fills in the time, and `split_whole` its latency and transfer.
  void (*time_whole)(const ChannelView&, const Stream&, ChannelTime&) = nullptr;
  void (*split_whole)(const ChannelView&, const Stream&, ChannelTime&) = nullptr;
};

std::span<const Timing> timings();
/// The timing of this name. \pre it exists
const Timing& find_timing(std::string_view name);

/// The slices of a stream with their true size (scale 1) or empty (scale 0).
SliceBytes slice_bytes(const Stream& stream, double scale);
/// s; makespan of a path with the slices and slots of the stream.
double makespan_of(Pipeline path, const Stream& stream);
/// `Timing::makespan` of a timing whose slices go along one path.
/// \tparam path  (Services, SliceBytes) -> Pipeline
template <auto path>
double makespan_along(const Services& services, const Stream& stream, double scale) {
  return makespan_of(path(services, slice_bytes(stream, scale)), stream);
}
/// Latency and transfer overlap. The larger one counts in full, the other one with what it adds.
void split_overlapping(ChannelTime& time);

}  // namespace fabricast
