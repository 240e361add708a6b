// Dumps of forwarding tables [infiniband-diags]: the output of `dump_fts` and `dump_lfts.sh`, of `ibroute` for one
// switch or for several in sequence, and the file `opensm-lfts.dump` of OpenSM.
//
// A pure function; safe to call concurrently on different streams.
#pragma once

#include <iosfwd>

#include "fabricast/discover/problems.hpp"
#include "fabricast/routing/forwarding.hpp"

namespace fabricast {

/// Reads a dump. Multicast tables are skipped. Every other line must be known, and tables whose number of entries
/// contradicts their last line are reported, because a damaged file would give wrong routes silently.
/// \param problems  receives the errors; what could be read is returned
ForwardingTables read_forwarding_tables(std::istream& in, FileProblems& problems);

}  // namespace fabricast
