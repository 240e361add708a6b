// Whether forwarding tables lead from everywhere to everywhere on a fabric.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/routing/forwarding.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

struct PathsChecked {
  std::uint64_t routes = 0;           ///< from one NIC of each leaf to every NIC port
  int longest = 0;                  ///< cables of the longest
  std::vector<std::string> faults;  ///< of ways that do not lead there, the first 20
  std::uint64_t broken = 0;         ///< how many
};

/// \pre every host has as many NIC ports as the first
PathsChecked check_paths(const FileFabric& fabric, const ForwardingTables& tables);

}  // namespace fabricast
