// A list of logs with a scenario each.
#include "reader.hpp"
#include "sim/cli/manifest.hpp"

namespace fabricast::fuzz {

void read_manifest(std::string_view bytes) {
  const std::string text(bytes);
  const auto entries = taken(text, [&] { return parse_manifest(text, "file"); });
  if (!entries) return;
  require(!entries->empty());
}

}  // namespace fabricast::fuzz
