// Independent tasks on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "fabricast/core/stop.hpp"

namespace fabricast {

/// As many threads as asked for; 0: as many as the machine has.
inline std::size_t thread_count(int wanted) {
  return wanted > 0 ? static_cast<std::size_t>(wanted) : std::max(1U, std::thread::hardware_concurrency());
}

/// Calls f(0) to f(count - 1), in any order, on so many threads at most. Of several faults the one of the first task is
/// thrown, whichever thread met one first.
/// \throws Interrupted on Ctrl-C, and what f throws
template <class F>
void in_parallel(std::size_t count, std::size_t threads, F f) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failed = count;
  const auto work = [&] {
    for (std::size_t task = next++; task < count; task = next++) {
      try {
        stop_if_requested();
        f(task);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (task < failed) failed = task, failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 1; t < std::min(threads, count); ++t) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  if (failure) std::rethrow_exception(failure);
}

/// Counts tasks that are done, from any thread, and tells the part of all.
class TaskProgress {
 public:
  /// \param tell  may be empty. It outlives this.
  TaskProgress(const std::function<void(double)>& tell, std::size_t count) : tell_(tell), count_(count) {}
  void one_done() {
    if (!tell_) return;
    const std::scoped_lock lock(mutex_);
    tell_(static_cast<double>(++done_) / static_cast<double>(count_));
  }

 private:
  const std::function<void(double)>& tell_;
  std::size_t count_, done_ = 0;
  std::mutex mutex_;
};

}  // namespace fabricast
