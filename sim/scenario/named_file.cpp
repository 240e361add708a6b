// Files that a scenario names, by paths relative to the scenario. Their faults are reported at the key that names them
// (named_file.hpp).
#include "named_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

std::string beside(const std::string& scenario, const std::string& path) {
  const std::filesystem::path p(path);
  return p.is_absolute() ? path : (std::filesystem::path(scenario).parent_path() / p).string();
}

std::string read_named(const std::string& path, const std::string& file, std::size_t most) {
  try {
    return read_file(file, most);
  } catch (const UserError& e) {
    const Diagnostic& d = e.diagnostics().front();
    throw UserError::at(path, d.message, d.hint);
  }
}

std::ifstream open_named(const std::string& path, const std::string& file) {
  errno = 0;
  // Opening a directory as a stream succeeds; only reading fails, without a reason.
  if (std::error_code error; std::filesystem::is_directory(file, error))
    throw UserError::at(path, fmt::format("cannot read '{}': is a directory", file));
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UserError::at(path, fmt::format("cannot read '{}': {}", file, system_reason(errno)));
  return in;
}

}  // namespace fabricast
