// PAT: log2(n) dimensions, each with ranks at half or twice the distance of the one before.
//
//   T = pat_makespan (pat_recurrence.hpp) + pat_delay (pat_ranks.hpp)                                               (1)
//
// The recurrence has the time of links that are all alike, the delay what differences between links add. They are apart
// because the first can follow one rank in place of all, slots included.
#include <algorithm>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/pat.hpp"
#include "pat_ranks.hpp"
#include "pat_recurrence.hpp"
#include "timing.hpp"

namespace fabricast {

namespace {

// What a channel sends on each dimension: as many blocks as the tree has parents at that distance, several to a message
// (pat.hpp).
PatShare pat_share(const ChannelView& v, int channel, double scale) {
  const Stream stream = find_by_algorithm(v.plan.algorithm)->stream(v.comm, v.plan, channel);
  const std::int64_t n = v.comm.ranks();
  const std::int64_t blocks = pat_blocks_per_message(v.plan, n, v.plan.shares[static_cast<std::size_t>(channel)]);
  PatShare share;
  share.loops = stream.loops;
  if (stream.tail_slices > 0) share.tail = static_cast<double>(stream.tail_slice) * scale;
  const int dimensions = pat_dimensions(n);
  for (int i = 0; i < dimensions; ++i) {
    // An all_gather sends on the farthest dimension first.
    const auto all = static_cast<std::int64_t>(
        pat_parents(n, v.plan.op == CollectiveOp::all_gather ? dimensions - 1 - i : i).size());
    const std::int64_t messages = ceil_div(all, blocks);
    share.dimensions.push_back({messages, blocks, all - (messages - 1) * blocks});
  }
  return share;
}

double makespan(const Services& services, const Stream& stream, double scale) {
  const ChannelView& v = services.view();
  PatRun run;
  run.slots = stream.slots;
  run.block = static_cast<double>(stream.slice) * scale;
  std::vector<int> channels;
  for (int c = 0; c < v.plan.channels; ++c)
    // Channels that are done send no more.
    if (v.use[static_cast<std::size_t>(c)] > 0) {
      run.channels.push_back(pat_share(v, c, scale));
      channels.push_back(c);
    }
  const PatNetwork network = pat_network(v);
  run.overhead = services.threads(0);
  run.copy = 1 / v.costs.copy_rate.value;
  run.receive = v.costs.last_receive;
  // A cost that is linear in bytes: its value at 0, and its slope.
  run.proxy = v.costs.proxy(0).value;
  run.thread = v.costs.proxy(1).value - run.proxy;
  // The slower of the port and the link from the GPU to it.
  run.nic = std::max(network.nic, services.alone_at_nic());
  run.latency = v.costs.network_latency(run.block).value + network.latency;
  // Empty slices (scale 0) do not contend for links.
  return pat_makespan(run) + (scale > 0 ? pat_delay(v, run, channels) : 0);
}

}  // namespace

Timing pat_timing() {
  return {.name = "pat",
          .summary = "log2(n) dimensions, the same for all ranks",
          .makespan = makespan,
          .looks = Services::Looks::at_links};
}

}  // namespace fabricast
