// How many pairs of nodes lie between two switches, if every node sends to every other, in fabrics that are not Clos
// networks. With on_s(k) the number of nodes whose NIC k is connected to switch s,
//
//   pairs(s, d) = on_s(k) on_d(m) - | nodes whose k is on s and whose m is on d |                                   (1)
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fabricast/collective/communicator.hpp"
#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

/// NICs k of the node that sends and m of the one that receives.
using NicPair = std::pair<std::uint16_t, std::uint16_t>;

/// The switch of a NIC port, numbered from 0. Ports come first among the links, so the link up of port e is 2e.
inline std::uint32_t switch_of_port(const Fabric& fabric, std::uint32_t port) {
  return fabric.link(LinkId(2 * port)).to.value - fabric.endpoints();
}

class NodePairs {
 public:
  NodePairs(const Communicator& comm, const Fabric& fabric, NicPair nics)
      : from_(fabric.switches(), 0), to_(fabric.switches(), 0) {
    const auto at = [&](std::uint32_t node, std::uint16_t nic) {
      return switch_of_port(fabric, comm.endpoint(node, nic, fabric.ports_per_node()));
    };
    for (std::uint32_t node = 0; node < static_cast<std::uint32_t>(comm.nodes()); ++node) {
      const std::uint32_t s = at(node, nics.first), d = at(node, nics.second);
      ++from_[s];
      ++to_[d];
      own_.emplace_back(d, s);
    }
    std::sort(own_.begin(), own_.end());
  }

  /// Adds (1) times `each` for one second switch, by first switch.
  void add_row(std::uint32_t to, std::uint64_t each, std::vector<std::uint64_t>& row) const {
    if (to_[to] == 0) return;
    for (std::size_t s = 0; s < row.size(); ++s) row[s] += each * to_[to] * from_[s];
    for (auto it = std::lower_bound(own_.begin(), own_.end(), std::pair{to, 0U}); it != own_.end() && it->first == to;
         ++it)
      row[it->second] -= each;
  }

 private:
  std::vector<std::uint64_t> from_, to_;                      ///< nodes by switch
  std::vector<std::pair<std::uint32_t, std::uint32_t>> own_;  ///< switches of the second and the first NIC of each node
};

}  // namespace fabricast
