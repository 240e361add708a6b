// Ctrl-C: long work is asked to stop, and if it does not within half a second the process ends.
#pragma once

#include <csignal>

namespace fabricast {

/// SIGINT and SIGTERM set `stop_requested`, and exit 130 half a second later at the latest. Failed writes are left to
/// those who write.
void catch_stop_signals();

/// While it lives, the process does not end in the middle: for writing files.
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
