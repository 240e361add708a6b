// CUDA without a GPU: memory is host memory, and a simulated clock advances by the time that calls take.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "calibrate/probe/gpu_calls.hpp"

namespace fabricast::test {

class FakeGpu {
 public:
  static constexpr double issue = 2e-6;   ///< host time of a call
  static constexpr double begins = 5e-6;  ///< from the call until the GPU starts, if the stream is idle
  static constexpr double kernel = 1e-6;  ///< an empty kernel
  static constexpr double host_rate = 20e9, peer_rate = 100e9, own_rate = 1e12, memory_rate = 8e9;

  struct Stream {
    int gpu;
    double end = 0;   ///< when the work in the stream is done
    int pending = 0;  ///< operations whose end is not known yet
  };
  struct World {
    std::recursive_mutex mutex;
    double clock = 1;
    int gpus = 0, open = 0;
    bool direct = true;
    bool moves_data = false;
    std::map<char*, std::pair<std::size_t, int>> memory;  ///< bytes, and GPU or -1 for the host
    std::set<std::pair<int, int>> access;
    /// When an operation that is launched now can start.
    double start(const Stream& stream) const { return std::max(stream.end, clock + begins); }
    int gpu_of(const void* address) const;
  };

  explicit FakeGpu(int gpus);
  /// Working calls; a test replaces some.
  GpuCalls calls() const;
  /// Number of live allocations, streams, events and modules.
  int open_objects() const { return world->open; }
  std::shared_ptr<World> world;
};

/// The current GPU of this thread.
int& current_gpu();

}  // namespace fabricast::test
