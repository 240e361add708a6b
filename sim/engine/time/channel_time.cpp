#include "channel_time.hpp"

#include <algorithm>
#include <limits>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/pat.hpp"
#include "pat_ranks.hpp"
#include "pat_recurrence.hpp"
#include "paths.hpp"
#include "peer_time.hpp"

namespace fabricast {

namespace {

/// Slices of a share of their true size (scale 1) or empty (scale 0).
SliceBytes slice_bytes(const Stream& stream, double scale) {
  const double tail = static_cast<double>(stream.tail_slice) * scale;
  const double slices = static_cast<double>(stream.loops * stream.slices + stream.tail_slices);
  return {stream.loops > 0 ? static_cast<double>(stream.slice) * scale : tail, tail, slices};
}

double makespan_of(Pipeline path, const Stream& stream) {
  path.slots = stream.slots;
  path.slices = stream.loops * stream.slices;
  path.tails = stream.tail_slices;
  return pipeline_makespan(path);
}

double ring(const Services& services, const Stream& stream, double scale) {
  const ChannelView& v = services.view();
  Ring r;
  r.sends = stream.sends;
  r.hop_inside = v.costs.hop_inside, r.network = v.comm.nodes() > 1, r.slots = stream.slots, r.loops = stream.loops;
  double queue = 0;
  const auto loop = [&](int slices, std::int64_t slice) {
    RingLoop l;
    l.slices = slices;
    const double bytes = static_cast<double>(slice) * scale;
    for (std::size_t p = 0; p < static_cast<std::size_t>(v.comm.gpus()); ++p) {
      const bool at_nic = r.network && (p == 0 || p + 1 == static_cast<std::size_t>(v.comm.gpus()));
      const double threads = services.threads(bytes) + (at_nic ? v.costs.network_slice : 0);
      l.op.push_back(std::max(threads, services.staggered_link(p, bytes)));
      l.round.push_back(services.link(p, bytes));
    }
    l.receive = services.receive(bytes);
    if (r.network) {
      l.hop = services.ring_hop(bytes);
      // The last channel of a NIC waits for the others once; then they stay apart.
      queue = std::max(queue, l.hop.gap - l.hop.pass);
    }
    return l;
  };
  if (stream.loops > 0) r.loop = loop(stream.slices, stream.slice);
  r.tail.slices = 0;
  if (stream.tail_slices > 0) r.tail = loop(stream.tail_slices, stream.tail_slice);
  return ring_makespan(r) + queue;
}

double tree(const Services& services, const Stream& stream, double scale) {
  return makespan_of(tree_path(services, slice_bytes(stream, scale)), stream);
}

double nvls(const Services& services, const Stream& stream, double scale) {
  return makespan_of(nvls_path(services, slice_bytes(stream, scale)), stream);
}

PatShare pat_share(const ChannelView& v, int channel, double scale) {
  const Stream stream = find_by_algorithm(v.plan.algorithm)->stream(v.comm, v.plan, channel);
  const std::int64_t n = v.comm.ranks();
  const std::int64_t blocks = pat_blocks_per_message(v.plan, n, v.plan.shares[static_cast<std::size_t>(channel)]);
  PatShare share;
  share.loops = stream.loops;
  if (stream.tail_slices > 0) share.tail = static_cast<double>(stream.tail_slice) * scale;
  const int dimensions = pat_dimensions(n);
  for (int i = 0; i < dimensions; ++i) {
    const auto all = static_cast<std::int64_t>(
        pat_parents(n, v.plan.op == CollectiveOp::all_gather ? dimensions - 1 - i : i).size());
    const std::int64_t messages = ceil_div(all, blocks);
    share.dimensions.push_back({messages, blocks, all - (messages - 1) * blocks});
  }
  return share;
}

double pat(const Services& services, const Stream& stream, double scale) {
  const ChannelView& v = services.view();
  PatRun run;
  run.slots = stream.slots;
  run.block = static_cast<double>(stream.slice) * scale;
  std::vector<int> channels;
  for (int c = 0; c < v.plan.channels; ++c)
    if (v.use[static_cast<std::size_t>(c)] > 0) run.channels.push_back(pat_share(v, c, scale)), channels.push_back(c);
  const PatNetwork network = pat_network(v);
  run.overhead = services.threads(0);
  run.copy = 1 / v.costs.copy_rate, run.receive = v.costs.last_receive;
  run.proxy = v.costs.proxy(0), run.thread = v.costs.proxy(1) - run.proxy,
  run.nic = std::max(network.nic, services.alone_at_nic());
  run.latency = v.costs.network_latency(run.block) + network.latency;
  return pat_makespan(run) + (scale > 0 ? pat_delay(v, run, channels) : 0);
}

Services::Looks looks_of(const Stream& stream) {
  return stream.pattern == StreamPattern::pat ? Services::Looks::at_links : Services::Looks::at_edges;
}

double makespan(const Services& services, const Stream& stream, double scale) {
  switch (stream.pattern) {
    case StreamPattern::ring: return ring(services, stream, scale);
    case StreamPattern::chain: return chain_makespan(services, stream, slice_bytes(stream, scale));
    case StreamPattern::tree: return tree(services, stream, scale);
    case StreamPattern::sharp: return makespan_of(sharp_path(services, slice_bytes(stream, scale)), stream);
    case StreamPattern::nvls: return nvls(services, stream, scale);
    case StreamPattern::pat: return pat(services, stream, scale);
    case StreamPattern::peers:
    case StreamPattern::kernel: break;  // timed as a whole
  }
  return 0;
}

}  // namespace

ChannelTime time_channel(const ChannelView& v) {
  ChannelTime t;
  t.rate = v.rate;
  if (v.rate <= 0) {
    t.makespan = std::numeric_limits<double>::infinity();
    return t;
  }
  const Stream stream = find_by_algorithm(v.plan.algorithm)->stream(v.comm, v.plan, v.channel);
  if (stream.pattern == StreamPattern::peers) {
    const PeerTime peers = peer_time(v, 1);
    const double links = static_cast<double>(stream.sends * v.plan.pair) / v.rate;
    // The slope of an exchange that is followed in part is a little off: never quicker than the link that holds it.
    t.makespan = t.work = v.by_network ? std::max(peers.makespan, links) : peers.makespan;
    t.by_proxy = peers.proxy > std::max(links, t.makespan / 2);
    return t;
  }
  if (stream.pattern == StreamPattern::kernel) {
    // Links may be slower than NCCL takes them to be.
    const auto bytes = static_cast<double>(stream.slice);
    t.whole = {1, v.plan.kernels.front().estimate_us * 1e-6, bytes, bytes};
    t.makespan = t.work = t.whole.seconds(v.rate);
    t.by_kernel = t.makespan > t.whole.bytes / v.rate;
    return t;
  }
  const Services services(v, looks_of(stream));
  t.makespan = makespan(services, stream, 1);
  const bool network = v.comm.nodes() > 1;
  const auto pace = [&](std::int64_t slices, std::int64_t slice) {
    const auto bytes = static_cast<double>(slice);
    const double gpu = services.slowest_gpu(bytes), gap = network ? services.network_gap(bytes) : 0;
    const double count = static_cast<double>(stream.sends * slices);
    t.by_proxy |= network && gap > gpu && v.costs.proxy_round(bytes) >= gap;
    t.work += count * std::max(gpu, gap);
    if (!network || !v.by_network) return Pace{count, std::max(gpu, gap), 0, bytes};
    return Pace{count, std::max(gpu, v.costs.proxy_round(bytes)), bytes, bytes};
  };
  if (network)
    t.bytes = static_cast<double>(stream.sends) *
              (static_cast<double>(stream.loops * stream.slices) * static_cast<double>(stream.slice) +
               static_cast<double>(stream.tail_slices * stream.tail_slice));
  if (stream.pattern == StreamPattern::chain) t.work += chain_skew(services, stream, slice_bytes(stream, 1));
  if (stream.loops > 0) t.whole = pace(stream.loops * stream.slices, stream.slice);
  if (stream.tail_slices > 0) t.tail = pace(stream.tail_slices, stream.tail_slice);
  return t;
}

void split_time(const ChannelView& v, ChannelTime& t) {
  if (v.rate <= 0) return;
  const Stream stream = find_by_algorithm(v.plan.algorithm)->stream(v.comm, v.plan, v.channel);
  if (stream.pattern == StreamPattern::kernel) {
    t.latency = std::min(t.makespan, v.plan.kernels.front().least_us * 1e-6), t.transfer = t.makespan - t.latency;
    return;
  }
  const bool by_pairs = stream.pattern == StreamPattern::peers;
  const std::int64_t payload =
      by_pairs ? v.plan.pair : stream.loops * stream.slices * stream.slice + stream.tail_slices * stream.tail_slice;
  t.latency =
      std::min(t.makespan, by_pairs ? peer_time(v, 0).makespan : makespan(Services(v, looks_of(stream)), stream, 0));
  t.transfer = std::min(t.makespan, static_cast<double>(stream.sends * payload) / v.rate);
  // They overlap. The larger one counts in full, the other one for what it adds.
  double& smaller = t.latency > t.transfer ? t.transfer : t.latency;
  smaller = std::min(smaller, t.makespan - std::max(t.latency, t.transfer));
}

}  // namespace fabricast
