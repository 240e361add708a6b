// The GPUs of this process: their identities, memory, streams and events, and waiting for streams.
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

/// \throws ProbeFailure, with the call and the reason, unless `error` is 0
void check_gpu(const GpuCalls& calls, int error, std::string_view call);

/// Why no GPU can be used on this host; empty if one can.
std::string gpu_unavailable(const GpuCalls& calls);
/// In CUDA's order.
/// \throws ProbeFailure
std::vector<GpuIdentity> gpu_identities(const GpuCalls& calls);
/// The GPUs as ports gpu0, gpu1, ... in CUDA's order.
/// \throws ProbeFailure
std::vector<ProbePort> gpu_ports(const GpuCalls& calls);
/// The number in "gpu3".
/// \throws ProbeFailure if `port` is not such a name
int gpu_number(std::string_view port);
/// Versions and GPUs as JSON, or why no GPU can be used.
std::string gpu_provenance(const GpuCalls& calls);

/// Owns memory, a stream or an event, and releases it.
using GpuHandle = std::unique_ptr<void, std::function<void(void*)>>;

/// The following objects belong to the current GPU.
/// \throws ProbeFailure
GpuHandle gpu_memory(const GpuCalls& calls, std::size_t bytes);
/// Page-locked host memory.
GpuHandle pinned_memory(const GpuCalls& calls, std::size_t bytes);
GpuHandle gpu_stream(const GpuCalls& calls);
GpuHandle gpu_event(const GpuCalls& calls);

/// Polls streams until all are done, and yields the CPU after each poll.
/// \param look  called every 256 polls; may throw to give up
/// \throws ProbeFailure, and what `look` throws
void finish_streams(const GpuCalls& calls, const std::vector<void*>& streams, const std::function<void()>& look);

}  // namespace fabricast
