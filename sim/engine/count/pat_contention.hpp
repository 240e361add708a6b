// Contention on the links that PAT's messages cross beyond their NICs.
//
// All ranks send on the same dimension at the same time, so a message shares its links only with messages of its own
// dimension. With n_l of them on a link l of rate C_l, and w bytes on the wire per byte of payload,
//
//   seconds(c, i, r) = max over links l of the path:  w n_l / C_l                                                  (1)
//
// for the message that rank r sends in channel c on the i-th dimension. A connection with several queue pairs uses them
// in turn, so it counts with a fraction on each, and (1) is the mean over them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric_count.hpp"

namespace fabricast {

/// The contention of all messages. Few values are distinct; messages refer to them by number.
struct PatContentions {
  std::int64_t ranks = 0;
  int dimensions = 0;
  /// Messages on the most loaded link of a path, and the kind of that link.
  struct Contention {
    double messages = 0;
    std::uint32_t resource = 0;  ///< a link of the kind
    bool in_turn = true;         ///< the sender's messages of all channels take this path, one after the other
  };
  std::vector<Contention> contentions;  ///< the first one stands for paths without links between switches
  /// By channel and dimension, then by sending rank: index in `contentions`. Empty if all of them are 0.
  std::vector<std::vector<std::uint16_t>> of;
  std::vector<FabricCount::Trips> trips;  ///< of the messages of all channels
  std::uint32_t port = 0;                 ///< one of the ports that send
  /// By rank: the port at which it sends, and the port at which it receives. Empty if all ports are of one kind.
  std::vector<std::uint32_t> out, in;

  const std::vector<std::uint16_t>& at(int channel, int place) const {
    return of[static_cast<std::size_t>(channel * dimensions + place)];
  }
};

/// The results of one pass over all messages.
struct PatCount {
  FabricCount count;
  std::shared_ptr<const PatContentions> contentions;
};
/// \pre the plan's algorithm is PAT
/// \throws UserError if a connection has no path and the faults do not end
PatCount count_pat(const FabricCount::Input& input);

}  // namespace fabricast
