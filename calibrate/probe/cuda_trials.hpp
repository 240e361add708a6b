// The cuda backend: measurements on the GPUs of one process.
#pragma once

#include <memory>

#include "fabricast/calibrate/probe.hpp"
#include "gpu_calls.hpp"

namespace fabricast {

/// The backend.
/// \param calls  of the library, or a test's; must outlive the backend
std::unique_ptr<ProbeBackend> make_cuda_backend(const GpuCalls& calls);

/// Allocates memory and streams, and enables peer access.
/// \throws ProbeFailure
std::unique_ptr<ProbeTrial> prepare_cuda_trial(const GpuCalls& calls, const Measurement& measurement);

}  // namespace fabricast
