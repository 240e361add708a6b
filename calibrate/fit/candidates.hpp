// Runs of nccl-tests that could be made on the systems of measured cases.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

/// Candidate runs on one node, on two and on the largest measured number, up to 256 ranks: collectives with NCCL's own
/// choice, and with algorithm and protocol or one channel forced. Each has two sizes per size band, whose times are
/// placeholders. They are ordered by number of nodes, collective, and what they force.
/// \pre there is at least one case, and all are of one system
std::vector<MeasuredCase> candidate_runs(const std::vector<MeasuredCase>& cases);

/// Whether the run leaves algorithm and protocol to NCCL.
bool is_free(const MeasuredCase& run);
/// Whether algorithm and protocol of a row are those that the run forces, or the run forces none.
bool is_as_forced(const MeasuredCase& run, Algorithm algorithm, Protocol protocol);

/// Where to run, and the command line without the launcher: "1 node, 8 processes: alltoall_perf -b 64K ...".
std::string command_of(const MeasuredCase& run);

}  // namespace fabricast
