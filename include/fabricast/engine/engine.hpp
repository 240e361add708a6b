// Engines: they compute the time of a plan on a network.
//
//   flow   the default: links are shared by max-min fairness, connections of a channel advance together, and a timed
//          event graph gives the time of each channel (sim/engine/flow/flow_engine.cpp has the equations)
//   chunk  every slice is a transfer of its own, simulated with SimGrid; for cross-checks on small systems
//   bound  every transfer has its path to itself; a lower bound
//
// An engine works on one sample of the network: one seed of a routing policy whose choices are random. Times are
// seconds and rates are bytes per second of payload. The number of threads does not change a result.
//
// Engines cache what they count, so an engine object is not thread-safe. Separate objects may run concurrently.
//
// Not modelled by flow and bound: queues and congestion control (shares are fair at once), packets, retransmission, and
// jitter of hosts.
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

/// Value of `network.engine`; the file comment says what each does.
enum class EngineKind { flow, chunk, bound };
template <>
struct EnumNames<EngineKind> {
  static constexpr std::array<std::string_view, 3> names{"flow", "chunk", "bound"};
};

/// What limits the slowest channel.
struct Bottleneck {
  /// A link, `link down`, `gpu copy`, `proxy thread` or `latency`. The engines that do not know it name themselves:
  /// `bound`, and `not identified` for chunk.
  std::string name;
  BytesPerSecond rate;      ///< payload rate of one connection of the channel; 0 if no rate is the limit
  BytesPerSecond capacity;  ///< of the link; 0 if the bottleneck is not a link
  /// A channel that uses the link.
  struct Sharer {
    int channel;
    double connections;  ///< connections of the channel on the link; not integer where traffic is spread over links
  };
  std::vector<Sharer> sharers;  ///< empty if the bottleneck is not a link
  std::uint32_t alike = 1;      ///< number of links with the same load
};

/// The time of one collective. With NetworkSetup::times_only, the split of the makespan and the bottleneck stay empty.
struct CollectiveResult {
  Seconds makespan;  ///< from the start of the first GPU to the end of the last one, without the launch
  Seconds launch;    ///< time to start the kernel
  Seconds work;      ///< busy time of the busiest station per call: the pace of calls that overlap
  // The makespan, split by cause. The three parts add up to it.
  // Of latency and transfer, the smaller counts only what it adds to the other.
  Seconds latency;   ///< hops and costs per slice in sequence: the time with empty slices
  Seconds transfer;  ///< data at the channel's rate
  Seconds fill;      ///< the rest: filling the pipeline, and waiting for links that are down
  Bottleneck bottleneck;
  std::vector<std::string> affected_by;  ///< faults in force during the call that affect it, as the user wrote them
  std::uint64_t fingerprint = 0;         ///< hash of the event times: equal for runs with the same events
};

/// An engine on one sample of the network. Not thread-safe: make one per thread and sample.
class NetworkEngine {
 public:
  virtual ~NetworkEngine() = default;
  /// The time of a plan. Later calls may reuse counts of earlier ones.
  /// \pre the plan belongs to the communicator of the setup
  /// \throws UserError if the fabric is cut, if a link that is down blocks the collective forever, or if the engine
  ///   does not support the plan
  /// \throws Interrupted on Ctrl-C
  virtual CollectiveResult run(const Plan& plan) = 0;
};

/// The engine of a kind for the sample `seed`. It keeps a reference to `setup`, which must outlive it.
/// \throws UserError (path network.engine) if the chunk engine does not support the setup: faults that begin or end
///   during a collective, several queue pairs per connection, or more than 4,096 ranks
std::unique_ptr<NetworkEngine> make_engine(EngineKind kind, const NetworkSetup& setup, std::uint64_t seed);
/// The engines one by one, with the same contract.
std::unique_ptr<NetworkEngine> make_flow_engine(const NetworkSetup& setup, std::uint64_t seed);
std::unique_ptr<NetworkEngine> make_chunk_engine(const NetworkSetup& setup, std::uint64_t seed);
std::unique_ptr<NetworkEngine> make_bound_engine(const NetworkSetup& setup, std::uint64_t seed);

/// Combines a fingerprint with a value. The order of values matters.
constexpr std::uint64_t fold(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ (value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2))) * 0xff51afd7ed558ccdULL;
}

}  // namespace fabricast
