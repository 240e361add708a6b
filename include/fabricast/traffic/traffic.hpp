// The time of collectives: alone, and together with others in flight.
//
// A *kind* (CollectiveKind, workload/program.hpp) is one collective, called by all its groups at once. Alone it takes
// `alone(kind).makespan`. In this time its groups already share the links of the fabric with each other. While other
// collectives are in flight, its channels get less of the links that they share, and it progresses at a *pace*: a
// fraction of its speed alone. Paces hold until a collective starts or ends.
//
// Times are seconds. Kinds are indices into Program::collectives.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabricast/core/units.hpp"

namespace fabricast {

/// The time of one call without other collectives of the job.
struct CollectiveTime {
  Seconds makespan;                 ///< from the start of the first rank to the end of the last one, without the launch
  Seconds launch;                   ///< time to start the kernel
  std::string algorithm, protocol;  ///< NCCL's choice for the slowest group
  int channels = 1;                 ///< of the slowest group
  std::string bottleneck;           ///< a link, `gpu copy`, `proxy thread` or `latency`
};

/// The times of a program's collectives on one sample of the network. Not thread-safe: functions may compute and cache.
class Traffic {
 public:
  virtual ~Traffic() = default;
  virtual const CollectiveTime& alone(std::uint32_t kind) = 0;
  /// Whether the kind neither slows down kinds of other groups nor is slowed down by them. Kinds of the same groups do
  /// not count, because calls of one communicator run one after the other.
  virtual bool is_independent(std::uint32_t kind) = 0;
  /// Computes the paces, in (0, 1], of kinds that are in flight together.
  /// \param kinds  ascending; a kind that is in flight several times is repeated
  /// \param paces  output, one for each entry of `kinds`
  virtual void paces(std::span<const std::uint32_t> kinds, std::span<double> paces) = 0;
};

}  // namespace fabricast
