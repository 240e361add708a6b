#include "command_line.hpp"

#include <sys/wait.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace fabricast {

namespace fs = std::filesystem;

std::string read_text(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

Ran run_shell(const std::string& command) {
  const Scratch scratch;
  const std::string script = scratch / "script", out = scratch / "out", err = scratch / "err";
  std::ofstream(script) << "cd '" FABRICAST_SOURCES "'\nfabricast='" FABRICAST_BINARY "'\n" << command << "\n";
  const int status = std::system(("bash '" + script + "' >'" + out + "' 2>'" + err + "' </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

Ran run_fabricast(const std::string& words) { return run_shell("exec $fabricast " + words); }

std::string output(const std::string& words) {
  const Ran ran = run_fabricast(words);
  INFO(words << "\n" << ran.err);
  REQUIRE(ran.code == 0);
  return ran.out;
}

const std::string& output_once(const std::string& words) {
  static std::map<std::string, std::string> known;
  const auto at = known.find(words);
  return at != known.end() ? at->second : known.emplace(words, output(words)).first->second;
}

}  // namespace fabricast
