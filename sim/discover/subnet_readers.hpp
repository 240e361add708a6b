// The readers of subnets, one for each format of SubnetFormat.
#pragma once

#include "fabricast/core/line_reader.hpp"
#include "fabricast/discover/subnet.hpp"

namespace fabricast {

DiscoveredSubnet read_ibnetdiscover(std::istream& in, FileProblems& problems);
DiscoveredSubnet read_port_list(std::istream& in, FileProblems& problems);
DiscoveredSubnet read_iblinkinfo(std::istream& in, FileProblems& problems);

/// Calls `read(text, line)` for every line that is neither empty nor a message of the tools.
template <class Read>
void each_line(std::istream& in, FileProblems& problems, Read read) {
  LineReader lines(in);
  while (lines.next()) {
    if (!lines.whole()) {
      if (lines.starts()) problems.error(lines.line(), 0, "the line has more than 65536 bytes");
      continue;
    }
    const std::string_view text = lines.text();
    if (text.find_first_not_of(" \t\r\f\v") == std::string_view::npos) continue;
    // If both output streams of a tool went to one file, its warnings are between the lines.
    if (text.starts_with("ibwarn:") || text.starts_with("ibdebug:") || text.starts_with("src/")) continue;
    read(text, lines.line());
  }
}

}  // namespace fabricast
