// What is measured on the GPUs of one process.
#pragma once

#include <memory>

#include "fabricast/calibrate/probe.hpp"
#include "gpu_calls.hpp"

namespace fabricast {

/// The backend on these calls, which must outlive it: those of the library, or a test's.
std::unique_ptr<ProbeBackend> make_cuda_backend(const GpuCalls& calls);

/// Memory, streams and access between peers.  \throws ProbeFailure
std::unique_ptr<ProbeTrial> prepare_cuda_trial(const GpuCalls& calls, const Measurement& measurement);

}  // namespace fabricast
