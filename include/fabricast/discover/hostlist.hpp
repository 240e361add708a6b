// Lists of hosts as Slurm writes them [Slurm-topology]: `dgx[001-004,7],login1`, `rack[0-3]n[0-7]`.
//
// A pure function; safe to call concurrently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Maximum number of names in a list, and in a file of lists. Larger than any cluster; it keeps a malformed range from
/// filling the memory.
constexpr std::size_t most_listed_hosts = 200000;

/// The names of a list, or an error.
struct Hostlist {
  std::vector<std::string> names;  ///< in the order of the text; empty if there is an error
  std::string error;               ///< empty: none
  std::size_t at = 0;              ///< byte of the error
};

/// Expands a list. Names with several brackets give all combinations, with the last bracket fastest. Numbers are padded
/// to the width of the first number of their range.
Hostlist expand_hostlist(std::string_view text);

}  // namespace fabricast
