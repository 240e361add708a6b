// The profiler of one communicator on one rank: follows each collective from its launch to the end of its last channel,
// and hands it to the writer of the process.
//
// All sessions of a process share one writer. It opens its file with the first session and closes it with the last.
//
// Events come from two threads: collectives start and stop where the program launches them, channels on NCCL's proxy
// thread. A call is complete when as many channels have ended as its description states. A call that never completes,
// because the communicator was aborted, is not written.
//
// Nothing throws, and no function returns an error to NCCL: a fault costs records, not the job.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "nccl_profiler.hpp"
#include "profiler_writer.hpp"

namespace fabricast::plugin {

class ProfilerSession {
 public:
  /// Opens a session if FABRICAST_PROFILER_DIR names a folder. Says what it does, or why nothing, in NCCL's log.
  /// \return null if there is nothing to do
  static ProfilerSession* open(ProfiledCommunicator communicator, NcclLog log) noexcept;
  ~ProfilerSession();
  ProfilerSession(const ProfilerSession&) = delete;
  ProfilerSession& operator=(const ProfilerSession&) = delete;

  /// \return a handle for `stop`, or null if the call cannot be recorded
  void* start(const CollectiveEvent& event) noexcept;
  /// \param collective  a handle of `start`
  /// \return a handle for `channel_stopped_at` and `stop`
  static void* start(void* collective, const ChannelEvent& event) noexcept;
  static void channel_stopped_at(void* channel, std::uint64_t timer) noexcept;
  /// Of a collective or a channel.
  static void stop(void* handle) noexcept;

 private:
  struct Call;
  struct Handle;
  struct Channel;
  ProfilerSession(std::shared_ptr<ProfilerWriter> writer, ProfiledCommunicator communicator, NcclLog log);
  void add(Call* call);
  void remove(Call* call) noexcept;
  static void release(Call* call) noexcept;

  std::shared_ptr<ProfilerWriter> writer_;
  std::shared_ptr<const ProfiledCommunicator> communicator_;
  NcclLog log_;
  std::mutex mutex_;
  Call* open_calls_ = nullptr;  ///< a list of those that are not complete
  std::size_t unknown_types_ = 0;
};

}  // namespace fabricast::plugin
