// How crowded the links are that PAT's messages cross beyond their NICs.
//
// All ranks send on the same dimension at the same time, so a message shares its links with those of its own dimension,
// and with no others. With n_l of them on a link l of rate C_l, w bytes on the wire for each of payload,
//
//   seconds(c, i, r) = max over links l of the path:  w n_l / C_l                                                  (1)
//
// for the message that rank r sends in channel c at place i of the dimensions. A connection of several queue pairs uses
// one after the other, so it counts for a part on each, and (1) is the mean over them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric_count.hpp"

namespace fabricast {

struct PatContentions {
  std::int64_t ranks = 0;
  int dimensions = 0;
  /// Messages on the most crowded link of a path, and which kind of link that is.
  struct Contention {
    double messages = 0;
    std::uint32_t resource = 0;  ///< one of the kind
    bool in_turn = true;         ///< the sender's messages of all channels take this path, one after the other
  };
  std::vector<Contention> contentions;  ///< the first: none, the path has no link between switches
  /// By channel and place, then by sending rank: number of the crowd. Empty where all of them have none.
  std::vector<std::vector<std::uint16_t>> of;
  std::vector<FabricCount::Trips> trips;  ///< of the messages of all channels
  std::uint32_t port = 0;                 ///< one of those that are sent from
  /// By rank: the port that it sends from, and the one it receives at. Empty where all are of one kind.
  std::vector<std::uint32_t> out, in;

  const std::vector<std::uint16_t>& at(int channel, int place) const {
    return of[static_cast<std::size_t>(channel * dimensions + place)];
  }
};

/// What one pass over all messages finds.
struct PatCount {
  FabricCount count;
  std::shared_ptr<const PatContentions> contentions;
};
/// \pre  the plan's algorithm is PAT
/// \throws UserError if a connection has no path, and no fault ends
PatCount count_pat(const FabricCount::Input& input);

}  // namespace fabricast
