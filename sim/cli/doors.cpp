// Verbs that are programs of their own, so that the command carries nothing of them: `fabricast serve` runs
// fabricast-serve, which lies beside it or is not installed.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "commands.hpp"
#include "door_options.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

/// \param described  the options of the program; the manual has a section on each, whether or not it is installed
int run_door(const std::string& verb, Options described, const std::vector<std::string>& arguments) {
  if (recording_help()) return (void)described.parse(arguments), 0;
  std::error_code unknown;
  const std::string program = "fabricast-" + verb;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path() / program;
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(path.c_str(), words.data());
  if (errno == ENOENT)
    throw Unavailable(fmt::format("`fabricast {}` is not installed; it is in the package {}", verb, program));
  throw Unavailable(fmt::format("cannot run '{}': {}", path.string(), system_reason(errno)));
}

}  // namespace

int mcp_verb(const std::vector<std::string>& arguments) { return run_door("mcp", mcp_options(), arguments); }

int serve_verb(const std::vector<std::string>& arguments) { return run_door("serve", serve_options(), arguments); }

int watch_verb(const std::vector<std::string>& arguments) { return run_door("watch", watch_options(), arguments); }

}  // namespace fabricast
