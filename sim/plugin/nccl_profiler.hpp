// NCCL's interface to profiler plugins, versions 4 to 6, declared for this plugin [NCCL-profiler].
//
// NCCL looks for the symbols ncclProfiler_v6 down to _v1 and takes the first that it knows. Each is a table of
// functions. NCCL 2.27 knows 4; 2.28 and 2.29 know 5; 2.30 and 2.31 know 6. Versions 1 to 3 do not state the number of
// ranks or the GPU's clock, so they are not offered.
//
// - `init` is called once per communicator and rank. It returns a context and the kinds of events that NCCL reports.
// - `start` is called when an event begins, from several threads at once: a collective from the thread that launches
//   it, a channel of its kernel from NCCL's proxy thread. It returns a handle, or null.
// - A channel begins and ends on the GPU's clock (`timer`, ns). Its parent is the handle of its collective. A
//   collective has as many channels as its description states, and they may end after `stop` of the collective: that
//   is when the host has launched it.
// - `record` with `channel_stopped` brings the end of a channel. `stop` of the channel follows.
// - `finalize` is called after the communicator's last event.
//
// The layouts of the descriptions differ in the width of `type` only; members that the plugin does not read are left
// out of their unions. `count` is that of the call: what a rank sends for all_gather, what it receives for
// reduce_scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "nccl_log.hpp"

namespace fabricast::plugin {

/// Kinds of events.
constexpr std::uint64_t collective_event = 1 << 1, channel_event = 1 << 6;
/// The state of a channel whose kernel has ended.
constexpr int channel_stopped = 22;

struct CollectiveEvent {
  std::uint64_t sequence;  ///< number of the call, by communicator and function
  const char* function;    ///< "AllReduce"
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* type;  ///< "ncclBfloat16"
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;  ///< "RING", "LL128"
};

struct ChannelEvent {
  std::uint8_t channel;
  std::uint64_t timer;  ///< start
};

/// A description of an event. NCCL's is longer.
template <class Type>
struct EventOf {
  Type type;
  void* parent;
  int rank;
  union {
    CollectiveEvent collective;
    ChannelEvent channel;
  };
};
using Event4 = EventOf<std::uint8_t>;
using Event5 = EventOf<std::uint64_t>;
static_assert(offsetof(Event4, parent) == offsetof(Event5, parent));
static_assert(offsetof(Event4, collective) == offsetof(Event5, collective));
static_assert(std::is_trivial_v<Event5>);

/// What `record` brings.
union EventState {
  std::uint64_t timer;  ///< end of a channel
  void* other;
};

using ProfilerStop = int (*)(void* handle);
using ProfilerRecord = int (*)(void* handle, int state, EventState* arguments);
using ProfilerFinalize = int (*)(void* context);

struct Profiler4 {
  const char* name;
  int (*init)(void** context, int* events, const char* name, std::uint64_t id, int nodes, int ranks, int rank,
              NcclLog log);
  int (*start)(void* context, void** handle, Event4* event);
  ProfilerStop stop;
  ProfilerRecord record;
  ProfilerFinalize finalize;
};

/// Versions 5 and 6.
struct Profiler5 {
  const char* name;
  int (*init)(void** context, std::uint64_t id, int* events, const char* name, int nodes, int ranks, int rank,
              NcclLog log);
  int (*start)(void* context, void** handle, Event5* event);
  ProfilerStop stop;
  ProfilerRecord record;
  ProfilerFinalize finalize;
};

}  // namespace fabricast::plugin
