// Streams of a rank, and which of them each of its nodes takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calls.hpp"

namespace fabricast::trace {

/// `group 'dp'`, or `group of 8 ranks`.
std::string stream_of_group(const GroupTable::Group& group);

/// What a node's time counts as: recorded names tell backward and optimizer from forward.
Part part_of_node(const RankTrace& trace, std::uint32_t node);

/// Kernels of a CUDA stream, the busiest first; memory; threads of the host; calls of a group; messages to and from a
/// peer. One after the other in each.
class Lanes {
 public:
  Lanes(const RankTrace& trace, const Calls& calls, std::uint32_t rank);
  const std::vector<std::string>& names() const { return names_; }
  std::uint16_t of(std::uint32_t node) const { return of_[node]; }

 private:
  std::vector<std::string> names_;
  std::vector<std::uint16_t> of_;  ///< by node
};

}  // namespace fabricast::trace
