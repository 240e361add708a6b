// Runs of nccl-tests that could be made on the systems of measured cases.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

/// On one node, on two, and on as many as were seen: collectives as NCCL would run them, and with algorithm, protocol
/// or one channel forced. Two sizes of each band; their times are not known.
/// \param cases  of one system, at least one
std::vector<MeasuredCase> candidate_runs(const std::vector<MeasuredCase>& cases);

/// Whether algorithm and protocol are NCCL's own choice.
bool is_free(const MeasuredCase& run);
/// Whether a row is what the run forces.
bool is_as_forced(const MeasuredCase& run, Algorithm algorithm, Protocol protocol);

/// What to type, and where.
std::string command_of(const MeasuredCase& run);

}  // namespace fabricast
