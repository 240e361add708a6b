// Lists of hosts as Slurm writes them [Slurm-topology]: `dgx[001-004,7],login1`, `rack[0-3]n[0-7]`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Of a list, and of a file of lists: beyond any cluster.
constexpr std::size_t most_listed_hosts = 200000;

/// The outcome: names in the order of the text, or what is wrong and at which byte.
struct Hostlist {
  std::vector<std::string> names;
  std::string error;  ///< empty if it could be read
  std::size_t at = 0;
};

/// Numbers keep the width of the first of their range. At most `most_listed_hosts`.
Hostlist expand_hostlist(std::string_view text);

}  // namespace fabricast
