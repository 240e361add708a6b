// Results of a probe that was cut off, gone on with.
#include "fabricast/calibrate/probe_session.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_earlier(std::string_view bytes) {
  const std::string text(bytes);
  const auto earlier = taken(text, [&] { return fabricast::read_earlier(text, "file"); });
  if (!earlier) return;
  require(earlier->whole <= text.size());
  require(earlier->whole == 0 || text[earlier->whole - 1] == '\n');
  require(text.find('\n', earlier->whole) == std::string::npos);
}

}  // namespace fabricast::fuzz
