// Opens logs for `check`, `gate`, `--measured` and `calibrate`. A log may be large and is read as a stream; lines that
// cannot be understood are warnings, since real logs contain output of launchers and other programs.
#include "log_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

std::string beginning_of(const std::string& path) {
  constexpr std::size_t most = std::size_t{1} << 20;
  std::ifstream in(path, std::ios::binary);
  std::string text(most, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return text;
}

Imported read_log(const std::string& path) {
  errno = 0;
  if (std::error_code error; std::filesystem::is_directory(path, error))
    throw UserError(fmt::format("cannot read '{}': is a directory", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError(fmt::format("cannot read '{}': {}", path, system_reason(errno)));
  Imported log = import_log(in);
  for (const Problem& p : log.problems) fmt::print(stderr, "{}:{}: warning: {}\n", path, p.line, p.message);
  if (log.problems_left_out > 0)
    fmt::print(stderr, "{}: warning: {} more lines cannot be read\n", path, log.problems_left_out);
  return log;
}

}  // namespace fabricast
