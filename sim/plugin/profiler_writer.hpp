// Writes records of all communicators of a process to one file, from a thread of its own, so that NCCL's threads never
// wait for a disk.
//
// The file is FOLDER/HOST-pidPID.jsonl. Each write ends with a whole line, so programs may follow the file while it
// grows. Calls that end faster than they can be written are dropped once 65,536 of them wait, and counted.
//
// Thread safety: `add` and `problems` may be called concurrently. Nothing throws except the constructor.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profiler_record.hpp"

namespace fabricast::plugin {

class ProfilerWriter {
 public:
  /// Opens the file. \throws std::runtime_error naming the file, if it cannot
  explicit ProfilerWriter(const std::string& folder);
  /// Writes what is left.
  ~ProfilerWriter();
  ProfilerWriter(const ProfilerWriter&) = delete;
  ProfilerWriter& operator=(const ProfilerWriter&) = delete;

  /// Queues a record.
  void add(const std::shared_ptr<const ProfiledCommunicator>& communicator, const ProfiledCall& call) noexcept;

  /// What was lost so far, in words; empty: nothing.
  std::string problems() const;
  const std::string& path() const { return path_; }

 private:
  struct Entry {
    std::shared_ptr<const ProfiledCommunicator> communicator;
    ProfiledCall call;
  };
  void run();
  void write(const std::vector<Entry>& entries) noexcept;

  ProfiledProcess process_;
  std::string path_;
  int file_ = -1;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> waiting_;
  bool ends_ = false;
  std::atomic<std::size_t> dropped_ = 0;
  std::atomic<int> error_ = 0;  ///< errno of the first write that failed
  std::thread thread_;
};

}  // namespace fabricast::plugin
