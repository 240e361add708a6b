// A ring: in step s a rank forwards what its neighbour sent in step s - 1. All ranks are alike.
//
//   T = ring_makespan( op, round, hops ) + max( 0, gap - pass )                                                     (1)
//
// ring_makespan is that of ring_recurrence.hpp, in s. `op` is the longer of a GPU's threads and its link, and `round`
// is the link while all channels use it. The recurrence follows a channel that is first at its NIC; gap - pass is the
// waiting time of the last one.
#include <algorithm>

#include "timing.hpp"

namespace fabricast {

namespace {

double makespan(const Services& services, const Stream& stream, double scale) {
  const ChannelView& v = services.view();
  Ring r;
  r.sends = stream.sends;
  r.hop_inside = v.costs.hop_inside.value;
  r.network = v.comm.nodes() > 1;
  r.slots = stream.slots;
  r.loops = stream.loops;
  double queue = 0;
  const auto loop = [&](int slices, std::int64_t slice) {
    RingLoop l;
    l.slices = slices;
    const double bytes = static_cast<double>(slice) * scale;
    for (std::size_t p = 0; p < static_cast<std::size_t>(v.comm.gpus()); ++p) {
      // A slice costs more if a GPU synchronizes with a proxy thread instead of another GPU.
      const bool at_nic = r.network && (p == 0 || p + 1 == static_cast<std::size_t>(v.comm.gpus()));
      const double threads = services.threads(bytes) + (at_nic ? v.costs.network_slice.value : 0);
      l.op.push_back(std::max(threads, services.staggered_link(p, bytes)));
      l.round.push_back(services.link(p, bytes));
    }
    l.receive = services.receive(bytes);
    if (r.network) {
      l.hop = services.ring_hop(bytes);
      // The last channel of a NIC waits for the others once. After that, the channels stay apart.
      queue = std::max(queue, l.hop.gap - l.hop.pass);
    }
    return l;
  };
  if (stream.loops > 0) r.loop = loop(stream.slices, stream.slice);
  // The last loop has fewer or smaller slices, so its times differ.
  r.tail.slices = 0;
  if (stream.tail_slices > 0) r.tail = loop(stream.tail_slices, stream.tail_slice);
  return ring_makespan(r) + queue;
}

}  // namespace

Timing ring_timing() {
  return {.name = "ring", .summary = "steps around a ring, the same for all ranks", .makespan = makespan};
}

}  // namespace fabricast
