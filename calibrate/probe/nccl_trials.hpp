// The nccl backend: measurements between GPUs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "nccl_group.hpp"

namespace fabricast {

/// The backend.
/// \param calls  of the libraries, or a test's; they must outlive the backend
std::unique_ptr<ProbeBackend> make_nccl_backend(const NcclCalls& calls, const GpuCalls& gpu);

/// What a rank needs to know to take part.
struct NcclPart {
  NcclPlace place;
  int from = -1, to = -1;  ///< NCCL ranks of a pair; -1 for a collective
  bool check = false;      ///< whether to check results before measuring
};

/// Allocates buffers and checks results if `part` demands it. All ranks call it at the same time.
/// \param timeout  in seconds without progress
/// \throws ProbeFailure, also if a result is wrong
std::unique_ptr<ProbeTrial> prepare_nccl_trial(const NcclCalls& calls, const GpuCalls& gpu, const Measurement& m,
                                               const NcclPart& part, std::shared_ptr<NcclGroup> group,
                                               const std::vector<PeerLink*>& links, ProbeSide side, double timeout);

/// Bytes as nccl-tests counts them, rounded up so that all ranks have the same number of whole floats.
Bytes nccl_bytes(std::string_view collective, Bytes bytes, int ranks);

}  // namespace fabricast
