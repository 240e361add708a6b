// What is measured between GPUs by NCCL.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "nccl_group.hpp"

namespace fabricast {

/// The backend on these calls, which must outlive it: those of the libraries, or a test's.
std::unique_ptr<ProbeBackend> make_nccl_backend(const NcclCalls& calls, const GpuCalls& gpu);

/// What one rank has to know to take part.
struct NcclPart {
  NcclPlace place;
  int from = -1, to = -1;  ///< NCCL's ranks of a pair
  bool check = false;      ///< whether the results are right, before it is measured
};

/// \throws ProbeFailure, also if a result is wrong
std::unique_ptr<ProbeTrial> prepare_nccl_trial(const NcclCalls& calls, const GpuCalls& gpu, const Measurement& m,
                                               const NcclPart& part, std::shared_ptr<NcclGroup> group,
                                               const std::vector<PeerLink*>& links, ProbeSide side, double timeout);

/// Bytes as nccl-tests counts them, rounded up so that all ranks have as many whole floats.
Bytes nccl_bytes(std::string_view collective, Bytes bytes, int ranks);

}  // namespace fabricast
