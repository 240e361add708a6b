// The work of one pipeline stage in the order in which its host queues it.
//
// Computation runs on the first stream. A collective starts when the computation queued before it has ended. The next
// computation waits for it only if `wait_for` is called.
#pragma once

#include "program_builder.hpp"

namespace fabricast {

/// Stands for no activity wherever an index is expected.
constexpr std::uint32_t no_activity = 0xffffffff;

/// Streams of a stage, in the order of their names below.
enum Stream : std::uint16_t {
  compute,
  tensor,
  others,
  data,
  send_forward,
  receive_forward,
  send_backward,
  receive_backward,
  experts_between,
  host,
  host_memory
};

/// Queues the activities of one actor.
class StageQueue {
 public:
  StageQueue(ProgramBuilder& builder, std::string name, double ranks)
      : builder_(builder), actor_(static_cast<std::uint32_t>(builder.program.actors.size())) {
    builder.program.actors.push_back(
        {std::move(name),
         {"compute", "tensor", "context and experts", "data", "send forward", "receive forward", "send backward",
          "receive backward", "experts between domains", "host", "host memory"},
         ranks});
  }

  std::uint32_t actor() const { return actor_; }
  /// The last computation, or no_activity.
  std::uint32_t last() const { return last_; }
  /// Following activities belong to this micro-batch; -1: to the step.
  void begin(int micro_batch) { micro_batch_ = micro_batch; }

  /// The next computation starts no earlier than this ends.
  void wait_for(std::uint32_t activity) {
    if (activity != no_activity) needs_.push_back(activity);
  }

  /// Queues computation. \returns its index
  std::uint32_t work(Seconds time, Part part, const std::string& what) {
    Activity a;
    a.time = time;
    a.part = part;
    a.micro_batch = micro_batch_;
    a.label = builder_.label(what);
    const Place place{actor_, compute};
    const std::uint32_t id = builder_.add(a, {&place, 1});
    for (const std::uint32_t need : needs_) builder_.depends(id, need);
    needs_.clear();
    return last_ = id;
  }

  /// Host time to launch the work queued last. The host runs ahead of the GPU, and the next work starts no earlier than
  /// the host has finished. \param after  activity that the host waits for first
  void launched(Seconds time, std::uint32_t after = no_activity) { wait_for(concurrent(host, time, after, "launch")); }

  /// Copies activations or weights to or from host memory, after the work queued last. \returns its index
  std::uint32_t copy(Seconds time, const char* what) { return concurrent(host_memory, time, last_, what); }

  /// Queues `calls` calls of a collective. \returns its index, or no_activity if `calls` is 0
  std::uint32_t collective(std::uint32_t kind, Stream stream, double calls = 1) {
    const Place place{actor_, stream};
    return calls > 0 ? collective(kind, {&place, 1}, calls) : no_activity;
  }
  std::uint32_t collective(std::uint32_t kind, std::span<const Place> places, double calls = 1) {
    Activity a;
    const CollectiveKind& k = builder_.program.collectives[kind];
    a.collective = kind;
    a.calls = calls;
    a.part = k.part;
    a.micro_batch = micro_batch_;
    a.label = builder_.label(k.name);
    const std::uint32_t id = builder_.add(a, places);
    if (last_ != no_activity) builder_.depends(id, last_);
    // A collective also waits for what the next computation waits for, because that was queued before it.
    for (const std::uint32_t need : needs_) builder_.depends(id, need);
    return id;
  }

 private:
  /// Queues host work on its own stream. \param after  activity that it waits for
  std::uint32_t concurrent(Stream stream, Seconds time, std::uint32_t after, const char* what) {
    Activity a;
    a.time = time;
    a.part = Part::host;
    a.micro_batch = micro_batch_;
    a.label = builder_.label(what);
    const Place place{actor_, stream};
    const std::uint32_t id = builder_.add(a, {&place, 1});
    if (after != no_activity) builder_.depends(id, after);
    return id;
  }

  ProgramBuilder& builder_;
  std::uint32_t actor_, last_ = no_activity;
  std::vector<std::uint32_t> needs_;  ///< activities that the next computation waits for
  int micro_batch_ = -1;
};

}  // namespace fabricast
