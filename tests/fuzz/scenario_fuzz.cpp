// A scenario file; before a NUL, if there is one, `--set` words, one a line. The effective scenario reads back to itself.
#include "fabricast/core/text.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_scenario(std::string_view bytes) {
  const auto end = bytes.find('\0');
  std::vector<std::string> words;
  if (end != std::string_view::npos) words = split(bytes.substr(0, end), '\n');
  const std::string text(end == std::string_view::npos ? bytes : bytes.substr(end + 1));
  const auto read = taken(text, [&] { return parse_scenario(text, "file", words); });
  if (!read) return;
  for (const Diagnostic& warning : read->warnings) require_stated(warning, text);
  const std::string effective = to_yaml(read->scenario);
  require(to_yaml(parse_scenario(effective, "file").scenario) == effective);
}

}  // namespace fabricast::fuzz
