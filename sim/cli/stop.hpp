// Ctrl-C: long work is asked to stop (core/stop.hpp). If it does not stop within half a second, the process exits.
#pragma once

#include <csignal>

namespace fabricast {

/// Installs signal handlers. SIGINT and SIGTERM set `stop_requested`, and the process exits with 130 at most half a
/// second later. SIGPIPE and SIGXFSZ are ignored, so that failed writes return an error.
void catch_stop_signals();

/// While an object of this class exists, the half-second limit does not end the process. Used while writing files.
class HeldStop {
 public:
  HeldStop();
  ~HeldStop();
  HeldStop(const HeldStop&) = delete;
  HeldStop& operator=(const HeldStop&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace fabricast
