// Ranks meet at rank 0.
#pragma once

#include <string>
#include <vector>

#include "messages.hpp"
#include "socket.hpp"

namespace fabricast {

/// Everyone, seen from one rank.
struct Meeting {
  std::vector<Member> members;
  std::string pass;                ///< drawn by rank 0: opens the doors of all ranks
  std::vector<probe::Wire> wires;  ///< rank 0: to rank r at r, the first unused; others: to rank 0 at 0
  std::vector<probe::Door> door;   ///< one's own; none if alone
};

/// Waits for all, or goes to rank 0.
/// \throws Unavailable if someone does not come in time; UserError if rank 0 refuses, or a token is missing
Meeting meet(const SessionOptions& options, const Member& self);

/// The system's name of this host.
std::string host_name();

}  // namespace fabricast
