// Reads logs of measurements for several verbs, and prints what is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "fabricast/ask/logs.hpp"

namespace fabricast {

/// Reads logs (ask/logs.hpp), and prints a warning for each line that cannot be understood.
/// \throws UserError if one cannot be read
NamedLogs read_logs(const std::vector<std::string>& paths);

/// Prints a warning for each line of a log that cannot be understood.
void print_problems(const NamedLog& log);

/// Prints a warning if some of a job's communicators cannot be compared with the scenario.
void print_left_out(const NamedLog& log, const World& world);

}  // namespace fabricast
