// The start of a session: all ranks connect to rank 0 and learn each other's addresses.
#pragma once

#include <string>
#include <vector>

#include "messages.hpp"
#include "socket.hpp"

namespace fabricast {

/// All ranks of the session, seen from one of them.
struct Meeting {
  std::vector<Member> members;     ///< by rank
  std::string pass;                ///< random secret from rank 0, which every rank requires
  std::vector<probe::Wire> wires;  ///< on rank 0: by rank, the first unused; else: to rank 0
  std::vector<probe::Door> door;   ///< where this rank listens; empty with one rank
};

/// Rank 0 waits for all ranks; the others connect to rank 0.
/// \param self  this rank; its address and port are filled in
/// \throws Unavailable if a rank does not connect in time; UserError if rank 0 refuses this rank or a token is missing
Meeting meet(const SessionOptions& options, const Member& self);

/// Host name of the system.
std::string host_name();

}  // namespace fabricast
