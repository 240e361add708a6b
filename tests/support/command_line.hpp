// Runs the built binary as a user does.
#pragma once

#include <filesystem>
#include <string>

namespace fabricast {

struct Ran {
  int code = -1;
  std::string out, err;
};

/// Runs a command by the shell, in the folder of the sources; `$fabricast` is the binary.
Ran run_shell(const std::string& command);
/// Runs `fabricast WORDS` likewise.
Ran run_fabricast(const std::string& words);
/// What `fabricast WORDS` prints; the test fails if it does not end well.
std::string output(const std::string& words);

std::string read_text(const std::filesystem::path& file);

/// A folder of its own for a test, gone after it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  std::size_t files() const;
  std::filesystem::path path;
};

}  // namespace fabricast
