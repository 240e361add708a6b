// The flows of a plan that meet on its most loaded links, and what these carry under DCQCN (engine/dcqcn.hpp).
//
//   e = last end of the flows with fair shares / last end of the same flows under DCQCN                             (1)
//
// The links between switches that several NIC ports use (contended.hpp) are taken in the order of their connections over
// their rate, until `most_met` flows cross them. Then come flows that share a link with these, to `most_flows` in all.
// With w_e, Q and W as in fabric_count.hpp and P bytes of payload on a channel's stream, a queue pair sends
//
//   bytes = P w_e / (Q W)  x  bytes on the wire per byte of payload                                                  (2)
//
// Sends and receives, and plans of more than `most_routed` queue pairs, are not routed again. There each of these links is
// alone: its flows come from eight ports, which bring together what the ports of the job would bring.
#pragma once

#include <span>
#include <vector>

#include "fabric_count.hpp"
#include "fabricast/engine/dcqcn.hpp"

namespace fabricast {

class ContendedFlows {
 public:
  ContendedFlows(const FabricCount::Input& input, const FabricCount& count);
  /// No link is contended.
  bool empty() const { return channel_.empty(); }
  /// (1), at most 1. \param payload  P, B, by channel; of sends and receives the bytes of a pair
  double efficiency(std::span<const double> payload, double wire, const DcqcnSettings& settings,
                    std::uint64_t seed) const;

 private:
  void add_routed(const FabricCount::Input& input, const std::vector<std::uint32_t>& loaded);
  void add_alone(const FabricCount::Input& input, const FabricCount& count, const std::vector<std::uint32_t>& loaded);
  void add(std::uint32_t channel, double part, Seconds round_trip);

  DcqcnProblem problem_;                ///< without bytes and settings
  std::vector<std::uint32_t> channel_;  ///< by flow
  std::vector<double> part_;            ///< by flow; of the channel's payload
};

}  // namespace fabricast
