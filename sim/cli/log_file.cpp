// Opens logs for `check`, `gate`, `--measured` and `calibrate`. Lines that cannot be understood are warnings.
#include "log_file.hpp"

#include <fmt/format.h>

namespace fabricast {

namespace {

// A log may have thousands of faulty lines, so each takes one line here, without the excerpt of other diagnostics.
void print_short(const Diagnostic& d) {
  const std::string line = d.where.line > 0 ? fmt::format(":{}", d.where.line) : std::string();
  const std::string column = d.where.column > 0 ? fmt::format(":{}", d.where.column) : std::string();
  fmt::print(stderr, "{}{}{}: warning: {}\n", d.where.file, line, column, d.message);
}

}  // namespace

void print_problems(const NamedLog& log) {
  for (const Diagnostic& d : problems_of(log)) print_short(d);
}

void print_left_out(const NamedLog& log, const World& world) {
  for (const Diagnostic& d : left_out_of(log, world)) print_short(d);
}

NamedLogs read_logs(const std::vector<std::string>& paths) {
  NamedLogs logs = read_log_files(paths);
  for (const NamedLog& log : logs) print_problems(log);
  return logs;
}

}  // namespace fabricast
