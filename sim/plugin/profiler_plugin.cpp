// libnccl-profiler-fabricast.so: the interfaces that NCCL may ask for, over one session (docs/profiler-plugin.md).
#include "profiler_session.hpp"

namespace fabricast::plugin {

namespace {

constexpr const char* profiler_name = "fabricast";

// Collectives are reported only where there is a session, since each event costs NCCL's threads time.
int open(void** context, int* events, const char* name, std::uint64_t id, int nodes, int ranks, int rank,
         NcclLog log) noexcept {
  ProfilerSession* const session = ProfilerSession::open({id, name ? name : "", nodes, ranks, rank}, log);
  *context = session;
  *events = session ? static_cast<int>(collective_event | channel_event) : 0;
  return nccl_success;
}

int init4(void** context, int* events, const char* name, std::uint64_t id, int nodes, int ranks, int rank,
          NcclLog log) noexcept {
  return open(context, events, name, id, nodes, ranks, rank, log);
}

int init5(void** context, std::uint64_t id, int* events, const char* name, int nodes, int ranks, int rank,
          NcclLog log) noexcept {
  return open(context, events, name, id, nodes, ranks, rank, log);
}

template <class Event>
int start(void* context, void** handle, Event* event) noexcept {
  *handle = nullptr;
  auto* const session = static_cast<ProfilerSession*>(context);
  if (!session) return nccl_success;
  if (event->type == collective_event) *handle = session->start(event->collective);
  if (event->type == channel_event) *handle = ProfilerSession::start(event->parent, event->channel);
  return nccl_success;
}

int stop(void* handle) noexcept {
  ProfilerSession::stop(handle);
  return nccl_success;
}

int record(void* handle, int state, EventState* arguments) noexcept {
  if (state == channel_stopped && arguments) ProfilerSession::channel_stopped_at(handle, arguments->timer);
  return nccl_success;
}

int finalize(void* context) noexcept {
  delete static_cast<ProfilerSession*>(context);
  return nccl_success;
}

}  // namespace

#define FABRICAST_EXPORT extern "C" __attribute__((visibility("default")))
FABRICAST_EXPORT const Profiler4 ncclProfiler_v4{profiler_name, init4, start<Event4>, stop, record, finalize};
FABRICAST_EXPORT const Profiler5 ncclProfiler_v5{profiler_name, init5, start<Event5>, stop, record, finalize};
FABRICAST_EXPORT const Profiler5 ncclProfiler_v6{profiler_name, init5, start<Event5>, stop, record, finalize};
#undef FABRICAST_EXPORT

}  // namespace fabricast::plugin
