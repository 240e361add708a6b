#include "command_line.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fabricast {

namespace {
std::string take(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  std::filesystem::remove(file);
  return text.str();
}
}  // namespace

Ran run_fabricast(const std::string& words) {
  const std::filesystem::path base = std::filesystem::temp_directory_path() / ("fabricast-test-" + std::to_string(getpid()));
  const std::string out = base.string() + ".out", err = base.string() + ".err";
  const std::string command = "cd '" FABRICAST_SOURCES "' && '" FABRICAST_BINARY "' " + words + " >'" + out + "' 2>'" + err + "' </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, take(out), take(err)};
}

}  // namespace fabricast
