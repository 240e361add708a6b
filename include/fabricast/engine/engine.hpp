// Engines: from a plan to its time on the network.
//
//   flow   the default: shares of links by max-min fairness, coupled per channel, and a timed event graph
//          (sim/engine/flow/flow_engine.cpp has the equations)
//   chunk  every slice a transfer of its own, on SimGrid; for cross-checks on small systems
//   bound  every transfer alone on its path: a lower bound
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/units.hpp"
#include "fabricast/engine/network.hpp"

namespace fabricast {

enum class EngineKind { flow, chunk, bound };
template <>
struct EnumNames<EngineKind> {
  static constexpr std::array<std::string_view, 3> names{"flow", "chunk", "bound"};
};

/// What holds the slowest channel back.
struct Bottleneck {
  std::string name;         ///< a link, `gpu copy`, `proxy thread`, or `latency`
  BytesPerSecond rate;      ///< of payload that the channel gets there; 0 for latency
  BytesPerSecond capacity;  ///< of the link; 0 if it is no link
  struct Sharer {
    int channel;
    double connections;  ///< of the channel on the link
  };
  std::vector<Sharer> sharers;  ///< channels on the link
  std::uint32_t alike = 1;      ///< links loaded in the same way
};

struct CollectiveResult {
  Seconds makespan;  ///< from the first GPU's start to the last one's end, launch excluded
  Seconds launch;
  Seconds work;  ///< that the busiest station works for one call: the pace of overlapping calls
  // The makespan split by cause; the parts add up.
  Seconds latency;   ///< hops and per-slice costs in sequence, with empty slices
  Seconds transfer;  ///< the data through the channel's share; of the two, the smaller counts for what it adds
  Seconds fill;      ///< the rest: until the pipe is full, and waiting for links that are down
  Bottleneck bottleneck;
  std::vector<std::string> affected_by;  ///< faults in force while it ran
  std::uint64_t fingerprint = 0;  ///< hash of the trajectory of events
};

/// One draw of the network. Not thread-safe; make one per thread and draw.
class NetworkEngine {
 public:
  virtual ~NetworkEngine() = default;
  /// \throws UserError if the fabric is cut, Interrupted on Ctrl-C.
  virtual CollectiveResult run(const Plan& plan) = 0;
};

std::unique_ptr<NetworkEngine> make_engine(EngineKind kind, const NetworkSetup& setup, std::uint64_t seed);
std::unique_ptr<NetworkEngine> make_flow_engine(const NetworkSetup& setup, std::uint64_t seed);
std::unique_ptr<NetworkEngine> make_chunk_engine(const NetworkSetup& setup, std::uint64_t seed);
std::unique_ptr<NetworkEngine> make_bound_engine(const NetworkSetup& setup, std::uint64_t seed);

/// Folds a value into a fingerprint, by its bits.
constexpr std::uint64_t fold(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ (value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2))) * 0xff51afd7ed558ccdULL;
}

}  // namespace fabricast
