// CUDA without a GPU: memory is the host's, and a clock of its own that moves as the calls take time.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "calibrate/probe/gpu_calls.hpp"

namespace fabricast::test {

class FakeGpu {
 public:
  static constexpr double issue = 2e-6;   ///< a call takes the host
  static constexpr double begins = 5e-6;  ///< until what was called begins, if nothing was under way
  static constexpr double kernel = 1e-6;  ///< an empty kernel
  static constexpr double host_rate = 20e9, peer_rate = 100e9, own_rate = 1e12, memory_rate = 8e9;

  struct Stream {
    int gpu;
    double end = 0;   ///< of what is in it
    int pending = 0;  ///< that nobody knows the end of yet
  };
  struct World {
    std::recursive_mutex mutex;
    double clock = 1;
    int gpus = 0, open = 0;
    bool direct = true;
    bool moves_data = false;
    std::map<char*, std::pair<std::size_t, int>> memory;  ///< bytes and GPU, -1 is the host's
    std::set<std::pair<int, int>> access;
    /// When what is launched now may begin.
    double start(const Stream& stream) const { return std::max(stream.end, clock + begins); }
    int gpu_of(const void* address) const;
  };

  explicit FakeGpu(int gpus);
  /// Working calls; a test replaces some.
  GpuCalls calls() const;
  /// Memory, streams, events and modules.
  int open_objects() const { return world->open; }
  std::shared_ptr<World> world;
};

/// Of this thread.
int& current_gpu();

}  // namespace fabricast::test
