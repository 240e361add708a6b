// The CUDA runtime is linked statically. The driver's library is loaded when it is needed, so that the program starts
// without a driver.
#include "gpu_calls.hpp"

#ifdef FABRICAST_CUDA
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>

#include "clock.hpp"
#include "fabricast/core/text.hpp"
#endif

namespace fabricast {

#ifndef FABRICAST_CUDA

const GpuCalls& library_gpu() {
  static const GpuCalls calls = [] {
    GpuCalls c;
    c.missing = [] { return "fabricast was built without the CUDA toolkit (headers and libcudart_static)"; };
    return c;
  }();
  return calls;
}

#else

namespace {

/// A function of the driver, or null. The name is that in the library, because cuda.h renames some functions by macro.
template <class F>
F driver_function(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
}

/// Calls the function, or returns cudaErrorInsufficientDriver if the driver lacks it.
template <class F, class... Arguments>
int driver_call(F function, Arguments... arguments) {
  return function ? static_cast<int>(function(arguments...)) : static_cast<int>(cudaErrorInsufficientDriver);
}

/// An empty kernel as PTX for Volta and newer GPUs. The driver compiles it.
constexpr char empty_kernel[] = R"(.version 6.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
)";

int load_empty_kernel(void** module, void** function) {
  // Makes the runtime create its context and make it current: the driver's functions work in the current context.
  if (const int error = cudaFree(nullptr)) return error;
  CUmodule loaded = nullptr;
  static const auto load = driver_function<decltype(&cuModuleLoadData)>("cuModuleLoadData");
  if (const int error = driver_call(load, &loaded, static_cast<const void*>(empty_kernel))) return error;
  *module = loaded;
  static const auto find = driver_function<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
  return driver_call(find, reinterpret_cast<CUfunction*>(function), loaded, "nothing");
}

int launch(void* function, void* stream) {
  static const auto call = driver_function<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  return driver_call(call, static_cast<CUfunction>(function), 1u, 1u, 1u, 1u, 1u, 1u, 0u, static_cast<CUstream>(stream),
                     static_cast<void**>(nullptr), static_cast<void**>(nullptr));
}

int export_dma_buf(int* file, void* memory, std::size_t bytes) {
#if CUDA_VERSION >= 11070
  static const auto call = driver_function<decltype(&cuMemGetHandleForAddressRange)>("cuMemGetHandleForAddressRange");
  return driver_call(call, static_cast<void*>(file), reinterpret_cast<CUdeviceptr>(memory), bytes,
                     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0ull);
#else
  static_cast<void>(file), static_cast<void>(memory), static_cast<void>(bytes);
  return GpuCalls::not_supported;
#endif
}

int identify(int gpu, GpuIdentity* out) {
  cudaDeviceProp properties{};
  if (const int error = cudaGetDeviceProperties(&properties, gpu)) return error;
  char pci[32] = {};
  if (const int error = cudaDeviceGetPCIBusId(pci, sizeof pci, gpu)) return error;
  out->name = properties.name;
  out->capability = 10 * properties.major + properties.minor;
  out->memory = {static_cast<std::int64_t>(properties.totalGlobalMem)};
  out->uuid = "GPU-";
  out->pci = lower_case(pci);  // sysfs has addresses in lower case
  for (std::size_t i = 0; i < sizeof properties.uuid.bytes; ++i)
    out->uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                             static_cast<unsigned char>(properties.uuid.bytes[i]));
  return 0;
}

int enable_peer_access(int gpu) {
  const cudaError_t error = cudaDeviceEnablePeerAccess(gpu, 0);
  if (error != cudaErrorPeerAccessAlreadyEnabled) return error;
  cudaGetLastError();  // clears the error, which a later call would return again
  return 0;
}

int elapsed(Seconds* time, void* begin, void* end) {
  float milliseconds = 0;
  const int error = cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(begin), static_cast<cudaEvent_t>(end));
  *time = {1e-3 * static_cast<double>(milliseconds)};
  return error;
}

GpuCalls made() {
  GpuCalls c;
  c.missing = [] { return std::string(); };
  c.reason = [](int error) {
    const auto code = static_cast<cudaError_t>(error);
    return fmt::format("{} ({})", cudaGetErrorString(code), cudaGetErrorName(code));
  };
  c.now = probe::steady_now;
  c.copy_host = [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); };
  c.device_count = [](int* count) -> int { return cudaGetDeviceCount(count); };
  c.identify = identify;
  c.driver_version = [](int* version) -> int { return cudaDriverGetVersion(version); };
  c.runtime_version = [](int* version) -> int { return cudaRuntimeGetVersion(version); };
  c.set_device = [](int gpu) -> int { return cudaSetDevice(gpu); };
  c.allocate = [](void** memory, std::size_t bytes) -> int { return cudaMalloc(memory, bytes); };
  c.release = [](void* memory) -> int { return cudaFree(memory); };
  c.allocate_host = [](void** memory, std::size_t bytes) -> int { return cudaMallocHost(memory, bytes); };
  c.release_host = [](void* memory) -> int { return cudaFreeHost(memory); };
  c.fill = [](void* memory, int byte, std::size_t bytes) -> int { return cudaMemset(memory, byte, bytes); };
  c.create_stream = [](void** stream) -> int {
    return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking);
  };
  c.destroy_stream = [](void* stream) -> int { return cudaStreamDestroy(static_cast<cudaStream_t>(stream)); };
  c.query_stream = [](void* stream) -> int { return cudaStreamQuery(static_cast<cudaStream_t>(stream)); };
  c.create_event = [](void** event) -> int { return cudaEventCreate(reinterpret_cast<cudaEvent_t*>(event)); };
  c.destroy_event = [](void* event) -> int { return cudaEventDestroy(static_cast<cudaEvent_t>(event)); };
  c.record_event = [](void* event, void* stream) -> int {
    return cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream));
  };
  c.elapsed = elapsed;
  c.copy = [](void* to, const void* from, std::size_t bytes, void* stream) -> int {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream));
  };
  c.copy_peer = [](void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes, void* stream) -> int {
    return cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, static_cast<cudaStream_t>(stream));
  };
  c.can_access_peer = [](int* can, int gpu, int peer) -> int { return cudaDeviceCanAccessPeer(can, gpu, peer); };
  c.enable_peer_access = enable_peer_access;
  c.load_empty_kernel = load_empty_kernel;
  c.unload_module = [](void* module) -> int {
    static const auto call = driver_function<decltype(&cuModuleUnload)>("cuModuleUnload");
    return driver_call(call, static_cast<CUmodule>(module));
  };
  c.launch = launch;
  c.export_dma_buf = export_dma_buf;
  return c;
}

}  // namespace

const GpuCalls& library_gpu() {
  static const GpuCalls calls = made();
  return calls;
}

#endif

}  // namespace fabricast
