// The CUDA functions that the probes use, as a table, so that a test can make each of them fail.
//
// The table has no CUDA types: code that uses it builds and is tested without CUDA. Calls return 0 or CUDA's error
// number, which runtime and driver share since CUDA 10.1. Device memory is identified by its address, and other objects
// by a handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "fabricast/core/units.hpp"

namespace fabricast {

struct GpuIdentity {
  std::string name;    ///< "NVIDIA H200"
  std::string pci;     ///< "0000:1b:00.0"
  std::string uuid;    ///< "GPU-5a1b..."
  Bytes memory;        ///< total
  int capability = 0;  ///< compute capability; 90 is 9.0
};

struct GpuCalls {
  static constexpr int not_ready = 600, not_supported = 801;

  std::function<std::string()> missing;    ///< why the functions are missing; empty if they are present
  std::function<std::string(int)> reason;  ///< meaning of an error number
  std::function<Seconds()> now;            ///< the host's steady clock
  std::function<void(void*, const void*, std::size_t)> copy_host;  ///< memcpy
  std::function<int(int*)> device_count;
  std::function<int(int, GpuIdentity*)> identify;
  std::function<int(int*)> driver_version;  ///< CUDA version of the driver: 13000 is 13.0; 0 without a driver
  std::function<int(int*)> runtime_version;
  std::function<int(int)> set_device;
  std::function<int(void**, std::size_t)> allocate;
  std::function<int(void*)> release;
  std::function<int(void**, std::size_t)> allocate_host;  ///< page-locked
  std::function<int(void*)> release_host;
  std::function<int(void*, int, std::size_t)> fill;
  std::function<int(void**)> create_stream;
  std::function<int(void*)> destroy_stream;
  std::function<int(void*)> query_stream;  ///< 0, not_ready, or an error
  std::function<int(void**)> create_event;
  std::function<int(void*)> destroy_event;
  std::function<int(void*, void*)> record_event;                    ///< event, stream
  std::function<int(Seconds*, void*, void*)> elapsed;               ///< from one event to another
  std::function<int(void*, const void*, std::size_t, void*)> copy;  ///< to, from, bytes, stream; any memory
  std::function<int(void*, int, const void*, int, std::size_t, void*)> copy_peer;  ///< to, its GPU, from, its GPU, ...
  std::function<int(int*, int, int)> can_access_peer;
  std::function<int(int)> enable_peer_access;            ///< from the current GPU to this one; 0 also if already on
  std::function<int(void**, void**)> load_empty_kernel;  ///< module, function; on the current GPU
  std::function<int(void*)> unload_module;
  std::function<int(void*, void*)> launch;                      ///< function, stream; one thread
  std::function<int(int*, void*, std::size_t)> export_dma_buf;  ///< a file descriptor of device memory
};

/// The functions of the libraries. If Fabricast was built without them, only `missing` may be called.
const GpuCalls& library_gpu();

}  // namespace fabricast
