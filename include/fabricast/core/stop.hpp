// A request to stop. Long work checks it now and then and throws Interrupted.
//
// There are two kinds. `stop_requested` is global and stops all work of the process: the signal handlers of
// sim/cli/stop.cpp set it. A StopSource stops one question: work of a thread that is inside a StopScope of it, and of
// the threads that in_parallel starts there. Programs that embed the library use the second.
//
// Requests may come from any thread, and from a signal handler.
#pragma once

#include <atomic>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// Whether all work should stop. Nothing in the library resets it.
inline std::atomic<bool> stop_requested{false};

/// A request to stop one question. It cannot be taken back.
class StopSource {
 public:
  /// From any thread or signal handler. Work ends at its next check, not at once.
  void request() { requested_.store(true, std::memory_order_relaxed); }
  /// Whether a stop was requested.
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
};

/// The source that stops the work of this thread; null: none.
inline constinit thread_local const StopSource* stop_of_thread = nullptr;

/// While an object of this class exists, `source` stops the work of this thread. Scopes may be nested: the innermost
/// counts. \pre `source` outlives the scope; it may be null
class StopScope {
 public:
  explicit StopScope(const StopSource* source) : before_(stop_of_thread) { stop_of_thread = source; }
  ~StopScope() { stop_of_thread = before_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const StopSource* before_;
};

/// Two relaxed reads: cheap enough to call in loops. Work that holds something half done must be safe against the
/// exception.
/// \throws Interrupted if a stop of all work, or of this thread's, was requested
inline void stop_if_requested() {
  if (stop_requested.load(std::memory_order_relaxed)) throw Interrupted();
  if (stop_of_thread && stop_of_thread->requested()) throw Interrupted();
}

}  // namespace fabricast
