// Whole commands: wall time and peak memory, against targets.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace fabricast::bench {

struct Usage {
  double seconds = 0, processor = 0, megabytes = 0;
  bool finished = false;
};

/// Of `fabricast` with such words. \param limit  s; the command is stopped there
inline Usage measure_command(std::vector<std::string> words, double limit) {
  words.insert(words.begin(), FABRICAST_BINARY);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stdout)) _exit(127);
    alarm(static_cast<unsigned>(limit));
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {wall.count(), seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024,
          WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

/// Of `fabricast run`.
inline Usage measure(const std::string& scenario, const std::vector<std::string>& sets, double limit,
                     const std::vector<std::string>& options = {"--no-intervals"}) {
  std::vector<std::string> words = {"run", scenario};
  words.insert(words.end(), options.begin(), options.end());
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  return measure_command(std::move(words), limit);
}

struct Row {
  std::string what;
  std::vector<std::string> sets;
  double most_seconds, most_megabytes;
};

/// Prints a line per row, the best of some repeats. \returns whether all targets are met
inline bool run_rows(const std::string& scenario, const std::vector<Row>& rows, int repeats,
                     std::vector<double>& seconds) {
  fmt::print("{:40} {:>9} {:>12} {:>9} {:>9} {:>9}\n", "fabricast run", "s", "processor s", "MB", "target s",
             "target MB");
  bool met = true;
  for (const Row& row : rows) {
    Usage best{1e9, 0, 0, false};
    for (int r = 0; r < repeats; ++r) {
      const Usage u = measure(scenario, row.sets, 600);
      if (u.finished && u.seconds < best.seconds) best = u;
    }
    const bool ok = best.finished && best.seconds <= row.most_seconds && best.megabytes <= row.most_megabytes;
    met &= ok;
    seconds.push_back(best.seconds);
    fmt::print("{:40} {:9.3f} {:12.3f} {:9.0f} {:9.1f} {:9.0f}{}\n", row.what, best.seconds, best.processor,
               best.megabytes, row.most_seconds, row.most_megabytes, ok ? "" : "  missed");
  }
  return met;
}

}  // namespace fabricast::bench
