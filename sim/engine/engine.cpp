// Which engine runs a plan: flow, chunk or bound, as the scenario's `network.engine` says.
//
// All take a plan and give its time, so that any two can be compared. The equations are those of
// flow/flow_engine.cpp and bound/bound_engine.cpp; chunk leaves sharing to SimGrid (docs/models/chunk-engine.md).
#include "fabricast/engine/engine.hpp"

#include "fabricast/core/error.hpp"

namespace fabricast {

std::unique_ptr<NetworkEngine> make_engine(EngineKind kind, const NetworkSetup& setup, std::uint64_t seed) {
  switch (kind) {
    case EngineKind::flow: return make_flow_engine(setup, seed);
    case EngineKind::chunk: return make_chunk_engine(setup, seed);
    case EngineKind::bound: return make_bound_engine(setup, seed);
  }
  FABRICAST_CHECK(false, "no such engine");
}

}  // namespace fabricast
