// The streams of a rank, and the stream of each of its nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calls.hpp"

namespace fabricast::trace {

/// The name of a group's stream: `group dp`, or `group of 8 ranks` if the group has no name.
std::string stream_of_group(const GroupTable::Group& group);

/// The category of a node's computation: host if it runs on the CPU, otherwise optimizer, backward or forward by
/// keywords in its recorded name.
Part part_of_node(const RankTrace& trace, std::uint32_t node);

/// The first stream, `compute`, is the CUDA stream with the most computation. Kernels without a stream count as one
/// stream. Each other CUDA stream, memory, each host thread, each process group, and each peer and direction have a
/// stream of their own. The nodes of a stream run one after the other.
class Lanes {
 public:
  /// \throws UserError if the rank needs more than 65536 streams
  Lanes(const RankTrace& trace, const Calls& calls, std::uint32_t rank);
  const std::vector<std::string>& names() const { return names_; }
  std::uint16_t of(std::uint32_t node) const { return of_[node]; }

 private:
  std::vector<std::string> names_;
  std::vector<std::uint16_t> of_;  ///< by node
};

}  // namespace fabricast::trace
