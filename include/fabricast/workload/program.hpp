// A step as a program: what every actor computes, on which streams, and which exchanges it takes part in.
//
// An *actor* stands for all ranks that do the same at the same time: of a training step, the ranks of a pipeline stage;
// of a trace, a rank. Each has streams, as a GPU has: what is queued on one runs in order, one after the other. An
// *activity* is computation on one stream, or an exchange, which holds one stream of each of its actors until it ends.
//
//   ready     an activity is at the head of all its streams, and all it depends on has ended
//   compute   runs for `seconds`, slower while exchanges run on the same actor
//   exchange  the same call by all groups of a kind at once; takes what the network gives it beside all other
//             exchanges in flight (traffic.hpp)
//
// Plain values: a program is built by models/workload or from a trace, and run by sim/step.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/parallel.hpp"

namespace fabricast {

/// What the time of an activity is spent on.
enum class Part {
  forward,
  backward,
  recompute,
  vocabulary,
  accumulation,
  optimizer,
  host,
  gemms,
  attention,
  elementwise,
  tensor,
  context,
  expert,
  data,
  pipeline,
  kv_transfer
};
template <>
struct EnumNames<Part> {
  static constexpr std::array<std::string_view, 16> names{
      "forward",   "backward",    "recompute", "vocabulary", "accumulation", "optimizer", "host",     "gemm",
      "attention", "elementwise", "tensor",    "context",    "expert",       "data",      "pipeline", "kv_transfer"};
};
constexpr std::size_t parts = EnumNames<Part>::names.size();

/// The same collective of all groups of a kind at once. `bytes` as nccl-tests counts them: of all_gather and
/// reduce_scatter the whole buffer, of alltoall what a rank sends, of sendrecv one message.
struct CollectiveKind {
  std::string name;  ///< e.g. `tensor all_gather, stage 3`
  Part part = Part::data;
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;
  std::uint32_t groups = 0;  ///< index into Program::groups
  bool one_way = false;      ///< of sendrecv in groups of two: only the first of a group sends
  double sms = 0;            ///< share of a GPU's SMs that its kernels hold; 0: they are NCCL's
};

struct Place {
  std::uint32_t actor = 0;
  std::uint16_t stream = 0;
  bool operator==(const Place&) const = default;
};

struct Activity {
  static constexpr std::uint32_t no_collective = 0xffffffff;
  double seconds = 0;                    ///< alone, of computation
  std::uint32_t collective = no_collective;  ///< index into Program::exchanges
  double calls = 1;                      ///< of the exchange, one after the other
  std::uint32_t first_dependency = 0;    ///< into Program::dependencies, up to that of the next activity
  std::uint32_t first_place = 0;         ///< into Program::places, likewise; at least one
  Part part = Part::forward;
  std::int32_t micro_batch = -1;  ///< that it is of; -1: of the whole step
  std::uint32_t label = 0;        ///< index into Program::labels
  bool is_collective() const { return collective != no_collective; }
};

struct Actor {
  std::string name;                  ///< e.g. `stage 3`
  std::vector<std::string> streams;  ///< names; the first one computes
  double ranks = 1;                  ///< that it stands for
};

struct Program {
  std::vector<Actor> actors;
  std::vector<RankGroups> groups;
  std::vector<CollectiveKind> collectives;
  std::vector<std::string> labels;
  /// On each stream, in the order they are queued; a dependency stands before what depends on it.
  std::vector<Activity> activities;
  std::vector<std::uint32_t> dependencies;
  std::vector<Place> places;

  std::span<const std::uint32_t> dependencies_of(std::size_t activity) const {
    return list(dependencies, &Activity::first_dependency, activity);
  }
  /// The streams that an activity holds: of computation one, of an exchange one of each of its actors.
  std::span<const Place> places_of(std::size_t activity) const {
    return list(places, &Activity::first_place, activity);
  }

  /// \returns its number
  std::uint32_t add(Activity activity, std::span<const Place> holds, std::span<const std::uint32_t> needs) {
    activity.first_dependency = static_cast<std::uint32_t>(dependencies.size());
    activity.first_place = static_cast<std::uint32_t>(places.size());
    dependencies.insert(dependencies.end(), needs.begin(), needs.end());
    places.insert(places.end(), holds.begin(), holds.end());
    activities.push_back(activity);
    return static_cast<std::uint32_t>(activities.size() - 1);
  }

 private:
  template <class T>
  std::span<const T> list(const std::vector<T>& all, std::uint32_t Activity::*first, std::size_t activity) const {
    const std::size_t begin = activities[activity].*first;
    const std::size_t end = activity + 1 < activities.size() ? activities[activity + 1].*first : all.size();
    return {all.data() + begin, end - begin};
  }
};

}  // namespace fabricast
