// NCCL without GPUs: ranks are threads of one process, data move in host memory, and time passes on the clock of the
// fake GPU.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "calibrate/probe/nccl_calls.hpp"
#include "fake_gpu.hpp"

namespace fabricast::test {

class FakeNccl {
 public:
  static constexpr double latency = 10e-6, rate = 40e9;  ///< a collective takes latency + bytes / rate

  explicit FakeNccl(const FakeGpu& gpu);
  /// Working calls; a test replaces some. Variables belong to the calls.
  NcclCalls calls() const;
  int open_communicators() const;
  int communicators_made() const;
  /// "NCCL_ALGO/NCCL_PROTO/channels" when communicators were made.
  std::set<std::string> settings() const;

  struct World;
  std::shared_ptr<World> world;
};

}  // namespace fabricast::test
