// Detects the format of a subnet's description from its first characteristic line.
#include "fabricast/core/scan.hpp"
#include "subnet_readers.hpp"

namespace fabricast {

namespace {

/// Whether a line names a device in ibnetdiscover's topology, such as `Switch  36 "S-...`.
bool is_block(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() < 3 || !is_digit(words[1].front())) return false;
  return (words[0] == "Switch" && words[2].starts_with("\"S-")) || (words[0] == "Ca" && words[2].starts_with("\"H-")) ||
         (words[0] == "Rt" && words[2].starts_with("\"R-"));
}

/// Whether a line is one of ibnetdiscover's list of ports.
bool is_port(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  return words.size() >= 5 && (words[0] == "SW" || words[0] == "CA" || words[0] == "RT") &&
         is_digit(words[1].front()) && is_digit(words[2].front()) && words[3].starts_with("0x");
}

}  // namespace

// Content decides, not the name of the file: users redirect outputs to any name.
std::optional<SubnetFormat> subnet_format(std::string_view text) {
  constexpr int most_lines = 1000;  // warnings of the tools may precede the first useful line
  for (int i = 0; i < most_lines && !text.empty(); ++i) {
    const std::string_view line = take_until(text, '\n');
    if (line.starts_with("# Topology file: generated") || line.starts_with("switchguid=0x") ||
        line.starts_with("caguid=0x") || is_block(line))
      return SubnetFormat::ibnetdiscover;
    if (line.find("==(") != std::string_view::npos && line.find("==>") != std::string_view::npos)
      return SubnetFormat::iblinkinfo;
    if (is_port(line)) return SubnetFormat::port_list;
  }
  return std::nullopt;
}

DiscoveredSubnet read_subnet(SubnetFormat format, std::istream& in, FileProblems& problems) {
  switch (format) {
    case SubnetFormat::ibnetdiscover: return read_ibnetdiscover(in, problems);
    case SubnetFormat::port_list: return read_port_list(in, problems);
    case SubnetFormat::iblinkinfo: return read_iblinkinfo(in, problems);
  }
  return {};
}

}  // namespace fabricast
