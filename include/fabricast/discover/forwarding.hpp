// Dumps of forwarding tables [infiniband-diags]: of `dump_fts` and `dump_lfts.sh`, of `ibroute` for one switch or
// several one after the other, and `opensm-lfts.dump` of OpenSM.
#pragma once

#include <iosfwd>

#include "fabricast/discover/problems.hpp"
#include "fabricast/routing/forwarding.hpp"

namespace fabricast {

/// Lines of multicast tables are passed over. Faults go to `problems`.
ForwardingTables read_forwarding_tables(std::istream& in, FileProblems& problems);

}  // namespace fabricast
