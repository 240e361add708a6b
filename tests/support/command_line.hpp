// Runs the built binary as a user does.
#pragma once

#include <filesystem>
#include <string>

#include "scratch.hpp"

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
/// The same, but words that this process has asked before are not run again. Not thread-safe.
/// \pre the files that the words name do not change
const std::string& output_once(const std::string& words);

std::string read_text(const std::filesystem::path& file);

}  // namespace fabricast
