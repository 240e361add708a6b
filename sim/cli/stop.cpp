// Ctrl-C has two stages: it asks work to stop at the next check (core/stop.hpp), and half a second later a timer ends
// the process, wherever it is. HeldStop delays the second stage while files are written.
#include "stop.hpp"

#include "fabricast/core/stop.hpp"

#include <sys/time.h>
#include <unistd.h>

namespace fabricast {

namespace {

// Signal handlers may only call async-signal-safe functions.
void ask(int) {
  stop_requested = true;
  // A timer instead of a thread: it needs nothing that a busy or blocked process could not give.
  itimerval half_a_second{{0, 0}, {0, 500000}};
  setitimer(ITIMER_REAL, &half_a_second, nullptr);
}

void end(int) {
  constexpr char text[] = "interrupted\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(130);
}

}  // namespace

void catch_stop_signals() {
  std::signal(SIGINT, ask);
  std::signal(SIGTERM, ask);
  std::signal(SIGALRM, end);
  // A broken pipe or an exceeded file size limit then makes the write fail, which gives a message.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

HeldStop::HeldStop() {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, &before_);
}

HeldStop::~HeldStop() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace fabricast
