// Runs independent tasks on several threads.
//
// Results must not depend on the order in which tasks run, because forecasts are the same for every number of threads.
// Each call starts threads and joins them before it returns; there is no pool. A request to stop (core/stop.hpp) is
// checked before each task, and the caller's also stops the threads that are started.
//
//   std::vector<Seconds> times(sizes.size());
//   in_parallel(sizes.size(), thread_count(0), [&](std::size_t i) { times[i] = time_of(sizes[i]); });
//
// Each task writes to its own element; sums are formed afterwards in the order of numbers. A calculation inside a task
// that is itself parallel should get one thread, because threads of nested calls multiply.
//
// Tasks are handed out one at a time by an atomic counter, so that long and short tasks balance. A task should take
// much longer than the start of a thread (tens of microseconds); group shorter ones.
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

/// The number of threads to use: `wanted`, or the number of hardware threads if it is 0 or negative. At least 1. The
/// number of hardware threads is that of the machine; a limit on CPU time, such as a container's quota, is not seen.
inline std::size_t thread_count(int wanted) {
  return wanted > 0 ? static_cast<std::size_t>(wanted) : std::max(1U, std::thread::hardware_concurrency());
}

/// Calls f(0) to f(count - 1) in any order, on at most `threads` threads including the caller's. After an exception no
/// further task starts; the running ones end. If several tasks throw, the exception of the task with the lowest number
/// is rethrown. Tasks start in the order of their numbers, so that is the lowest task that can fail, and the error is
/// the same for every number of threads.
/// Returns when all threads have ended. With `threads` 0 or 1 no thread is started.
/// \pre calls of f with different numbers may run concurrently; the system can start threads - if it refuses one while
///      others run, the process ends
/// \throws Interrupted on Ctrl-C, and whatever f throws
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
        if (task < failed) {
          failed = task;
          failure = std::current_exception();
        }
        next = count;
      }
    }
  };
  std::vector<std::thread> pool;
  const auto helper = [&work, source = stop_of_thread] {
    const StopScope scope(source);
    work();
  };
  for (std::size_t t = 1; t < std::min(threads, count); ++t) pool.emplace_back(helper);
  work();
  for (std::thread& t : pool) t.join();
  if (failure) std::rethrow_exception(failure);
}

/// Counts finished tasks and reports the finished fraction, above 0 and up to 1. Safe to use from several threads; the
/// callback runs under a lock, so the fractions that it gets increase. It runs on the thread that finished the task,
/// must not call `one_done`, and delays the other threads while it runs.
class TaskProgress {
 public:
  /// \param tell   callback; may be empty, and is kept by reference
  /// \param count  number of tasks
  /// \pre `tell` outlives this object
  TaskProgress(const std::function<void(double)>& tell, std::size_t count) : tell_(tell), count_(count) {}
  /// Counts one more task as finished. \throws what the callback throws
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
