// A check of forwarding tables: whether they lead from every NIC to every other NIC of a fabric.
//
// A pure function; safe to call concurrently. It follows every route, so its time is the number of leaves times the
// number of NIC ports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/routing/forwarding.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

/// The result of check_paths. Routes start at one NIC of each leaf, because all NICs of a leaf have the same routes
/// from there.
struct PathsChecked {
  std::uint64_t routes = 0;         ///< routes followed
  int longest = 0;                  ///< cables of the longest route
  std::uint64_t broken = 0;         ///< routes that do not lead to their destination
  std::vector<std::string> faults;  ///< messages about the first 20 broken routes
};

/// Follows the tables on a fabric. A fabric without hosts has no routes.
/// \pre every host has as many NIC ports as the first one
/// \throws UserError if the lists do not describe a fabric, if it has no LIDs, or if there are no tables
PathsChecked check_paths(const FileFabric& fabric, const ForwardingTables& tables);

}  // namespace fabricast
