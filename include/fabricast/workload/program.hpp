// A step as a program: what each actor computes, on which streams, and in which collectives it takes part.
//
// An *actor* stands for all ranks that do the same at the same time: the ranks of a pipeline stage in a training step,
// or one rank of a trace. An actor has streams, as a GPU has. Work queued on a stream runs in order. An *activity* is
// computation on one stream, or a collective, which occupies one stream of each of its actors until it ends.
//
//   ready       an activity is at the head of all its streams, and everything it depends on has ended
//   compute     takes `time`; on the first stream of its actor longer while collectives run on that actor
//   collective  the same call by all groups of a kind at once; takes the time that the network model gives it together
//               with all other collectives in flight (traffic/traffic.hpp)
//
// The times of waits and of the pipeline bubble are not part of a program: they result when it is run.
//
// Plain values. Models of training and inference or a reader of traces build a program; step/timeline.hpp runs it.
// Sizes are in bytes. Activities, actors, groups, kinds and labels are referred to by their index in the program;
// indices are not checked. The order of `activities` is the order of each stream, so a dependency may refer to a later
// activity only if no stream needs the opposite order; a cycle is found when the program runs.
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

/// The category of an activity: a kind of computation, or the dimension of parallelism that communicates. Reports add
/// up times by it (ActorTimes); it does not change when anything runs.
enum class Part {
  forward,       ///< forward pass of layers
  backward,      ///< backward pass of layers, without what is recomputed
  recompute,     ///< forward work that the backward pass repeats
  vocabulary,    ///< embedding, logits and loss
  accumulation,  ///< adding gradients of a micro-batch to those before, where GEMMs do not
  optimizer,     ///< the update of parameters
  host,          ///< work of the host, and copies between its memory and the GPU's
  gemms,         ///< of inference: GEMMs of layers
  attention,     ///< of inference: the core of attention
  elementwise,   ///< of inference: all other kernels of layers
  tensor,        ///< collectives of tensor parallelism
  context,       ///< of context parallelism
  expert,        ///< dispatch and combine of expert parallelism
  data,          ///< gradients and parameters of data parallelism
  pipeline,      ///< sends between stages
  kv_transfer    ///< KV caches from GPUs for prompts to GPUs that decode
};
template <>
struct EnumNames<Part> {
  static constexpr std::array<std::string_view, 16> names{
      "forward",   "backward",    "recompute", "vocabulary", "accumulation", "optimizer", "host",     "gemm",
      "attention", "elementwise", "tensor",    "context",    "expert",       "data",      "pipeline", "kv_transfer"};
};
/// Number of parts.
constexpr std::size_t part_count = EnumNames<Part>::names.size();

/// One collective, called by all groups of a set at once. `bytes` is counted as in nccl-tests: the whole buffer for
/// all_gather and reduce_scatter, what a rank sends in total for alltoall, one message for sendrecv.
struct CollectiveKind {
  std::string name;  ///< e.g. `tensor all_gather, stage 3`
  Part part = Part::data;
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;    ///< of one call of one group
  std::uint32_t groups = 0;  ///< index into Program::groups
  bool one_way = false;      ///< for sendrecv in groups of two: only the first rank of a group sends
  /// Data goes from memory to memory without kernels, as libraries for KV caches send it.
  struct Direct {
    int rail = -1;    ///< its NIC: 0 is the one that NCCL takes, 1 the next nearest one; -1: not sent this way
    Seconds posting;  ///< host time to post it, while the first of it is already sent
    bool is_on() const { return rail >= 0; }
  };
  Direct direct;
  double sms = 0;  ///< fraction of a GPU's SMs that its kernels occupy; 0: those of NCCL's channels
};

/// A stream of an actor.
struct Place {
  std::uint32_t actor = 0;   ///< index into Program::actors
  std::uint16_t stream = 0;  ///< index into Actor::streams
  bool operator==(const Place&) const = default;
};

/// Computation, or a collective. Lists of dependencies and places are slices of lists of the program.
struct Activity {
  static constexpr std::uint32_t no_collective = 0xffffffff;
  Seconds time;                              ///< of computation, without interference
  std::uint32_t collective = no_collective;  ///< index into Program::collectives
  double calls = 1;  ///< number of calls of the collective or kernel, one after the other; a mean need not be whole
  std::uint32_t first_dependency = 0;  ///< into Program::dependencies; ends where the next activity begins
  std::uint32_t first_place = 0;       ///< into Program::places, likewise; an activity has at least one place
  Part part = Part::forward;           ///< for a collective the same as that of its kind
  std::int32_t micro_batch = -1;       ///< that it belongs to; -1: the whole step
  std::uint32_t label = 0;             ///< index into Program::labels
  /// Whether it is a call rather than computation; `time` is then not read.
  bool is_collective() const { return collective != no_collective; }
};

/// A set of ranks with identical behavior.
struct Actor {
  std::string name;                  ///< e.g. `stage 3`
  std::vector<std::string> streams;  ///< names; the first stream computes
  double ranks = 1;                  ///< number of ranks that it stands for
};

/// Actors, and the activities on their streams.
struct Program {
  std::vector<Actor> actors;
  std::vector<RankGroups> groups;           ///< sets of groups of ranks that call a collective at once
  std::vector<CollectiveKind> collectives;  ///< each kind once, however often it is called
  std::vector<std::string> labels;          ///< what activities are called in timelines
  /// The activities of each stream in the order in which they are queued.
  std::vector<Activity> activities;
  std::vector<std::uint32_t> dependencies;  ///< of all activities, one after the other
  std::vector<Place> places;                ///< of all activities, one after the other

  /// Activities that must have ended before this one starts.
  std::span<const std::uint32_t> dependencies_of(std::size_t activity) const {
    return list(dependencies, &Activity::first_dependency, activity);
  }
  /// The streams that an activity occupies: one for computation, one of each of its actors for a collective.
  std::span<const Place> places_of(std::size_t activity) const {
    return list(places, &Activity::first_place, activity);
  }

  /// Appends an activity with its places and dependencies. \returns its index
  /// \param holds  its streams, at least one  \param needs  activities that must have ended
  /// \pre activities are only appended here: the slices of one begin where those of the one before end
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
