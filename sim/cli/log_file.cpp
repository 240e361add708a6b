#include "log_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

Imported read_log(const std::string& path) {
  errno = 0;
  if (std::error_code error; std::filesystem::is_directory(path, error))
    throw UserError(fmt::format("can not read '{}': is a directory", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError(fmt::format("can not read '{}': {}", path, system_reason(errno)));
  Imported log = import_log(in);
  for (const Problem& p : log.problems) fmt::print(stderr, "{}:{}: warning: {}\n", path, p.line, p.message);
  if (log.problems_left_out > 0)
    fmt::print(stderr, "{}: warning: {} more lines can not be read\n", path, log.problems_left_out);
  return log;
}

}  // namespace fabricast
