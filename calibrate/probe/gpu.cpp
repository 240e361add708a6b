#include "gpu.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <nlohmann/json.hpp>

#include "fabricast/core/quantity.hpp"

namespace fabricast {

using OrderedJson = nlohmann::ordered_json;

namespace {

std::string version_text_of(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

template <class Make, class Release>
GpuHandle handle(const GpuCalls& calls, std::string_view call, Make make, Release release) {
  void* made = nullptr;
  check_gpu(calls, make(&made), call);
  return {made, [release](void* h) { release(h); }};
}

}  // namespace

void check_gpu(const GpuCalls& calls, int error, std::string_view call) {
  if (error != 0) throw ProbeFailure(fmt::format("{}: {}", call, calls.reason(error)));
}

std::string gpu_unavailable(const GpuCalls& calls) {
  if (std::string reason = calls.missing(); !reason.empty()) return reason;
  int version = 0, count = 0;
  if (calls.driver_version(&version) != 0 || version == 0)
    return "no CUDA driver: libcuda.so.1 is missing or does not load (is the NVIDIA driver installed, and available in "
           "this container?)";
  try {
    check_gpu(calls, calls.device_count(&count), "cudaGetDeviceCount");
    if (count == 0) return "no GPU: cudaGetDeviceCount found none (check CUDA_VISIBLE_DEVICES)";
    gpu_identities(calls);
  } catch (const ProbeFailure& e) { return std::string("no GPU: ") + e.what(); }
  return {};
}

std::vector<GpuIdentity> gpu_identities(const GpuCalls& calls) {
  int count = 0;
  check_gpu(calls, calls.device_count(&count), "cudaGetDeviceCount");
  std::vector<GpuIdentity> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    check_gpu(calls, calls.identify(i, &all[static_cast<std::size_t>(i)]), "cudaGetDeviceProperties");
  return all;
}

std::vector<ProbePort> gpu_ports(const GpuCalls& calls) {
  std::vector<ProbePort> ports;
  for (const GpuIdentity& gpu : gpu_identities(calls))
    ports.push_back({fmt::format("gpu{}", ports.size()), "gpu", BytesPerSecond{25e9}, gpu.uuid, {}});
  return ports;
}

int gpu_number(std::string_view port) {
  const auto number = parse_integer(port.starts_with("gpu") ? std::string(port.substr(3)) : std::string());
  if (!number || number.value < 0 || number.value > 1023) throw ProbeFailure(fmt::format("there is no GPU '{}'", port));
  return static_cast<int>(number.value);
}

std::string gpu_provenance(const GpuCalls& calls) {
  OrderedJson out;
  if (std::string reason = gpu_unavailable(calls); !reason.empty()) {
    out["unavailable"] = reason;
    return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  int driver = 0, runtime = 0;
  if (calls.driver_version(&driver) == 0) out["driver_cuda"] = version_text_of(driver);
  if (calls.runtime_version(&runtime) == 0) out["runtime_cuda"] = version_text_of(runtime);
  out["gpus"] = OrderedJson::array();
  for (const GpuIdentity& gpu : gpu_identities(calls))
    out["gpus"].push_back({{"name", gpu.name},
                           {"pci", gpu.pci},
                           {"uuid", gpu.uuid},
                           {"memory", gpu.memory.value},
                           {"capability", fmt::format("{}.{}", gpu.capability / 10, gpu.capability % 10)}});
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

GpuHandle gpu_memory(const GpuCalls& calls, std::size_t bytes) {
  return handle(
      calls, "cudaMalloc", [&](void** m) { return calls.allocate(m, bytes); }, calls.release);
}

GpuHandle pinned_memory(const GpuCalls& calls, std::size_t bytes) {
  return handle(
      calls, "cudaMallocHost", [&](void** m) { return calls.allocate_host(m, bytes); }, calls.release_host);
}

GpuHandle gpu_stream(const GpuCalls& calls) {
  return handle(calls, "cudaStreamCreateWithFlags", calls.create_stream, calls.destroy_stream);
}

GpuHandle gpu_event(const GpuCalls& calls) {
  return handle(calls, "cudaEventCreate", calls.create_event, calls.destroy_event);
}

void finish_streams(const GpuCalls& calls, const std::vector<void*>& streams, const std::function<void()>& look) {
  unsigned turns = 0;
  for (void* stream : streams)
    while (true) {
      const int state = calls.query_stream(stream);
      if (state == 0) break;
      if (state != GpuCalls::not_ready) check_gpu(calls, state, "cudaStreamQuery");
      sched_yield();
      if (++turns % 256 == 0) look();
    }
}

}  // namespace fabricast
