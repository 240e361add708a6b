// libibverbs without a device: queue pairs of one process, connected by a link of known latency and rate.
#pragma once

#include <memory>

#include "calibrate/probe/verbs_calls.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast::test {

class FakeVerbs {
 public:
  /// \param latency  one way; an acknowledgement takes the same time again
  FakeVerbs(Seconds latency, BytesPerSecond rate);
  /// Working calls, for both sides; a test replaces some.
  VerbsCalls calls() const;
  /// Number of live contexts, protection domains, memory regions and queues.
  int open_objects() const;

 private:
  struct World;
  std::shared_ptr<World> world_;
};

}  // namespace fabricast::test
