// GPUs of this process: which there are, their memory and streams, and waiting for them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "gpu_calls.hpp"
#include "peer_link.hpp"

namespace fabricast {

/// \throws ProbeFailure with the call and the reason unless `error` is 0
void check_gpu(const GpuCalls& calls, int error, std::string_view call);

/// Why no GPU can be used here, or empty.
std::string gpu_unavailable(const GpuCalls& calls);
/// \throws ProbeFailure
std::vector<GpuIdentity> gpu_identities(const GpuCalls& calls);
/// The GPUs as ports: gpu0, gpu1, ... in CUDA's order.
std::vector<ProbePort> gpu_ports(const GpuCalls& calls);
/// The number in "gpu3".  \throws ProbeFailure
int gpu_number(std::string_view port);
/// JSON: versions and GPUs, or why there are none.
std::string gpu_provenance(const GpuCalls& calls);

/// Gives back what it stands for when it goes.
using GpuHandle = std::unique_ptr<void, std::function<void(void*)>>;

/// On the current GPU.  \throws ProbeFailure
GpuHandle gpu_memory(const GpuCalls& calls, std::size_t bytes);
GpuHandle pinned_memory(const GpuCalls& calls, std::size_t bytes);
GpuHandle gpu_stream(const GpuCalls& calls);
GpuHandle gpu_event(const GpuCalls& calls);

/// Looks at streams until all are done, and gives the CPU away after each look. `look` is called now and then and may
/// throw.  \throws ProbeFailure
void finish_streams(const GpuCalls& calls, const std::vector<void*>& streams, const std::function<void()>& look);

}  // namespace fabricast
