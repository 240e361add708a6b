// DCQCN as rates: when flows end whose NICs slow down as switches mark their packets [Zhu2015].
//
// All flows begin together, at line rate. Time goes in short steps, two of them to a notification interval. In each step a
// sender emits the packets that its rate allows, NIC ports and links pass on what they can in the order of arrival, and
// what leaves a link between NIC and NIC is marked by the queue there. With q the queue's bytes, R the rate of a flow and
// T its target:
//
//   switch      P(packet is marked) = 0 up to kmin, pmax (q - kmin) / (kmax - kmin) up to kmax, 1 above              (1)
//   receiver    notifies the sender if a packet was marked, at most once in min_time_between_cnps
//   sender      alpha = (1 - g)^n alpha + g     at a notification, n times dce_tcp_rtt after the last one            (2)
//               T = R,  R = R max( 1 - alpha / 2, rpg_min_dec_fac )     with the alpha before it, at most once in
//               rate_reduce_monitor_period. Without clamp_tgt_rate T stays if R has not risen since the last cut     (3)
//   rise        every rpg_time_reset, and every rpg_byte_reset sent, since the last cut; t and b count them:
//               R = (T + R) / 2,  after  T += 0             while neither exceeds rpg_threshold
//                                        T += rpg_ai_rate   if one does
//                                        T += rpg_hai_rate (min(t, b) - rpg_threshold)   if both do                  (4)
//   pauses      a switch stops the link by which more than xoff bytes came that have not left, until 5/6 of it       (5)
//
// A host serves its flows in turn, and each has at most two packets waiting. Packets stay whole, because a slow flow
// cannot be cut before it has sent its next one, and marks are drawn at random. A notification arrives one round trip
// after its packet; in exchange, the path to the queue takes no time.
//
// A long simulation stops after `most_work`. From there flows share links max-min, weighted with the rates that they had
// on average in its second half.
//
// Pure functions; safe to call concurrently. The same problem and seed give the same ends. Data are bytes on the wire.
// docs/validation-packets.md compares them with runs of packets.
//
// Not modelled: flows that begin later or have found their rates; acknowledgements on the way back; lost packets; NICs of
// other vendors.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/engine/dcqcn_settings.hpp"

namespace fabricast {

/// Settings of switches that mark nothing: NICs send at line rate until a switch pauses them (5), and nothing is random.
DcqcnSettings pauses_alone(Bytes xoff);

/// Flow f crosses the links link[first[f]] .. link[first[f + 1] - 1], in this order. The first is the port of its NIC.
struct DcqcnProblem {
  std::vector<BytesPerSecond> capacity;  ///< above 0, by link
  std::vector<std::uint32_t> first;      ///< one entry more than flows
  std::vector<std::uint32_t> link;       ///< of all flows, one flow after the other; at least one for each
  std::vector<Bytes> bytes;              ///< by flow; counted as whole packets, at least one
  std::vector<Seconds> round_trip;       ///< by flow, on an empty network
  std::vector<BytesPerSecond> line;      ///< by flow; the rate at which it begins; empty: that of its port
  DcqcnSettings settings;
  Bytes packet{4160};  ///< with headers
  Seconds step{2e-6};
  std::uint64_t most_work = 200'000'000;  ///< flows times steps
};

/// What passed a link behind a NIC's port, as far as it was simulated.
struct DcqcnLinkUse {
  double packets = 0;
  double marked = 0;  ///< packets that (1) marks, on average
  Bytes queue;        ///< on average over time
  Bytes most;         ///< longest queue
};

struct DcqcnEnds {
  std::vector<Seconds> end;       ///< by flow; when its last packet has left its last link
  Seconds simulated;              ///< later ends follow from the mean rates before
  std::vector<DcqcnLinkUse> use;  ///< by link
};

/// When flows end under DCQCN.
/// \throws InternalError if the lengths of the vectors do not match
DcqcnEnds dcqcn_ends(const DcqcnProblem& problem, std::uint64_t seed);

/// When they end if links are shared max-min fair at all times; the other settings do not matter.
std::vector<Seconds> fair_ends(const DcqcnProblem& problem);

}  // namespace fabricast
