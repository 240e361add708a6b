// How many channels, threads, chunks: NCCL's enqueue path [NCCL-enqueue].
#include "fabricast/planner/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

// Slots of a connection, and their payload [NCCL-enqueue-2.1].
constexpr int buffer_slots = 8;
constexpr std::int64_t ll_slot = 32768, ll128_slot = 576000, simple_buffer = 4 << 20;

struct Sizes {
  int max_threads, threshold;  // bytes per thread
};

Sizes sizes_of(const Planner& planner, Algorithm algorithm, Protocol protocol) {
  const SearchGraph& ring = planner.graphs.ring;
  const Communicator& comm = planner.comm;
  switch (protocol) {
    case Protocol::ll: {
      const std::int64_t threshold = algorithm == Algorithm::ring ? 8 * comm.ranks() : 8;
      return {planner.settings.threads.value_or(512), static_cast<int>(std::min<std::int64_t>(threshold, 1 << 30))};
    }
    case Protocol::ll128: return {640, 8};
    case Protocol::simple: break;
  }
  const int ring_default = ring.bw_intra * ring.channels <= 12 ? 256 : 512;
  return {planner.settings.threads.value_or(algorithm == Algorithm::ring ? ring_default : 512), 64};
}

/// Fewer channels, then fewer threads, until each thread has its threshold of bytes [NCCL-tuning-1.7].
void reduce_channels(const Planner& planner, Plan& plan) {
  const Sizes sizes = sizes_of(planner, plan.algorithm, plan.protocol);
  std::int64_t channels = planner.comm.channels;
  int threads = sizes.max_threads;
  const auto too_little = [&] {
    return static_cast<double>(plan.bytes) < static_cast<double>(channels) * threads * sizes.threshold;
  };
  while (channels > 1 && too_little()) --channels;
  while (too_little() && threads % 128 == 0) threads /= 2;
  if (plan.algorithm == Algorithm::ring && plan.protocol == Protocol::simple) threads += 32;
  if (plan.algorithm == Algorithm::tree) threads = 640;
  plan.threads = std::max(threads, 96);
  plan.channels = static_cast<int>(channels);
}

/// Continuous byte distribution: channels get cells of at least 32 KiB of traffic, so a small call uses fewer channels
/// than it may [NCCL-enqueue-2.2]. Before 2.22 channels got equal parts.
void share_out(const Planner& planner, Plan& plan) {
  const Communicator& comm = planner.comm;
  const bool per_rank = plan.op == CollectiveOp::all_gather || plan.op == CollectiveOp::reduce_scatter;
  const std::int64_t payload = per_rank ? plan.bytes / comm.ranks() : plan.bytes;
  const int most = plan.channels;
  std::vector<std::int64_t> shares;
  if (planner.settings.version < NcclVersion{2, 22, 0}) {
    const std::int64_t part =
        std::max<std::int64_t>(16, round_up(ceil_div(std::max<std::int64_t>(payload, 1), most), 16));
    for (std::int64_t left = payload; left > 0; left -= part) shares.push_back(std::min(part, left));
  } else {
    constexpr std::int64_t least_traffic = 32768;
    std::int64_t per_byte = plan.op == CollectiveOp::all_reduce ? 2 : per_rank ? comm.ranks() : 1;
    if (plan.protocol == Protocol::ll) per_byte *= 4;
    const std::int64_t cell = round_up(ceil_div(least_traffic, per_byte), 16);
    const std::int64_t cells = ceil_div(payload, cell);
    const std::int64_t traffic = std::max(least_traffic, payload * per_byte);
    const std::int64_t per_channel = std::max<std::int64_t>(least_traffic, round_up(ceil_div(traffic, most), 16));
    const std::int64_t cells_per_channel =
        std::max<std::int64_t>(1, std::min(cells, ceil_div(per_channel, cell * per_byte)));
    // Equal parts to all channels but the last, which takes the rest.
    for (std::int64_t left = cells; left > 0;) {
      const bool last = static_cast<int>(shares.size()) + 1 == most;
      const std::int64_t take = last ? left : std::min(left, cells_per_channel);
      const std::int64_t used = (cells - left) * cell;
      shares.push_back(std::min(take * cell, payload - used));
      left -= take;
    }
  }
  if (shares.empty()) shares.push_back(payload);
  plan.shares = std::move(shares);
  plan.channels = static_cast<int>(plan.shares.size());
  plan.offsets.assign(plan.shares.size(), 0);
  for (std::size_t c = 1; c < plan.shares.size(); ++c) plan.offsets[c] = plan.offsets[c - 1] + plan.shares[c - 1];
}

void choose_chunk(const Planner& planner, Plan& plan) {
  const Communicator& comm = planner.comm;
  const std::int64_t simple_slot = planner.settings.buffer_size.value_or(Bytes{simple_buffer}).value / buffer_slots;
  const bool whole_ring =
      plan.algorithm == Algorithm::ring && plan.op != CollectiveOp::broadcast && plan.op != CollectiveOp::reduce;
  plan.slots = buffer_slots;
  plan.slices_per_chunk = 1;
  plan.least_slice = 0;
  switch (plan.protocol) {
    case Protocol::ll: plan.chunk = ll_slot; break;
    case Protocol::ll128: plan.chunk = ll128_slot; break;
    case Protocol::simple:
      plan.chunk = simple_slot;
      if (whole_ring) {
        // A chunk is four slots, handed on in two slices of two.
        plan.chunk = 4 * simple_slot;
        plan.slices_per_chunk = 2;
        plan.least_slice = 2 * simple_slot / 32;
        plan.slots = buffer_slots / 2;
      }
      break;
  }
  const std::int64_t share = *std::max_element(plan.shares.begin(), plan.shares.end());
  if (plan.algorithm == Algorithm::tree) {
    if (plan.protocol == Protocol::ll128) {
      // Shorter chunks for shorter buffers, so that the tree's pipeline fills [NCCL-enqueue-2.3].
      const double per_node = comm.gpus();
      const double depth = 1 + std::floor(std::log2(static_cast<double>(comm.nodes()))) + 0.1 * per_node;
      const auto chunks = [&] { return static_cast<double>(share) / static_cast<double>(plan.chunk); };
      while (chunks() < 64 * depth / per_node && plan.chunk > 131072) plan.chunk /= 2;
      while (chunks() < 16 * depth / per_node && plan.chunk > 32768) plan.chunk /= 2;
    }
    plan.chunk = std::min(plan.chunk, round_up(std::max<std::int64_t>(share, 1), 16));
  }
}

}  // namespace

Planner make_planner(Node node, std::vector<std::uint32_t> placement, std::uint32_t hosts_per_node,
                     NcclSettings settings) {
  Planner planner;
  planner.settings = std::move(settings);
  Communicator& comm = planner.comm;
  comm.node = std::move(node);
  comm.placement = std::move(placement);
  comm.hosts_per_node = hosts_per_node;
  if (comm.ranks() < 2)
    throw UserError::at("cluster.nodes", "one GPU has nobody to talk to", "a collective takes two ranks");
  if (comm.nodes() > 1 && comm.node.nics == 0)
    throw UserError::at("node.nics.count", fmt::format("{} nodes and no NIC to join them", comm.nodes()));
  planner.graphs = search_graphs(comm.node, comm.nodes(), planner.settings);
  planner.costs = nccl_cost_model(comm.node, comm.nodes(), planner.graphs, planner.settings);
  NcclSettings unforced = planner.settings;
  unforced.algorithms.of.fill({true, true, true, true, true, true, true});
  unforced.protocols.of.fill({ProtocolSwitch::on, ProtocolSwitch::automatic, ProtocolSwitch::on});
  planner.default_costs = nccl_cost_model(comm.node, comm.nodes(), planner.graphs, unforced);
  comm.rings = planner.graphs.ring.shapes, comm.trees = planner.graphs.tree.shapes;
  comm.cross_nic = planner.graphs.ring.cross_nic, comm.tree_pattern = planner.graphs.tree.pattern;
  comm.channels = planner.graphs.channels;
  comm.gdr = uses_gdr(comm.node, planner.settings);
  comm.qps_per_connection = planner.settings.qps_per_connection;
  comm.split_data_on_qps = planner.settings.split_data_on_qps;
  comm.version = planner.settings.version;
  return planner;
}

bool is_simulated(Algorithm algorithm, CollectiveOp op) {
  const CollectiveAlgorithm* found = find_by_algorithm(algorithm);
  return found && found->supports(op);
}

Plan plan_collective(const Planner& planner, CollectiveOp op, std::int64_t bytes, Algorithm algorithm,
                     Protocol protocol) {
  Plan plan;
  plan.op = op, plan.bytes = bytes, plan.algorithm = algorithm, plan.protocol = protocol;
  reduce_channels(planner, plan);
  share_out(planner, plan);
  choose_chunk(planner, plan);
  return plan;
}

namespace {

/// All usable algorithms and protocols by NCCL's estimate; ties keep NCCL's order.
std::vector<Candidate> rank_candidates(const CostTable& costs, CollectiveOp op, std::int64_t bytes) {
  std::vector<Candidate> list;
  for (std::size_t a = 0; a < algorithm_count; ++a)
    for (std::size_t p = 0; p < 3; ++p) {
      const double t = costs.time(op, static_cast<Algorithm>(a), static_cast<Protocol>(p), bytes);
      if (t >= 0) list.push_back({static_cast<Algorithm>(a), static_cast<Protocol>(p), t});
    }
  std::stable_sort(list.begin(), list.end(),
                   [](const Candidate& a, const Candidate& b) { return a.estimate_us < b.estimate_us; });
  return list;
}

const Candidate* first_simulated(const std::vector<Candidate>& list, CollectiveOp op) {
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const Candidate& c) { return is_simulated(c.algorithm, op); });
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

Plan plan_collective(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  std::vector<Candidate> candidates = rank_candidates(planner.costs, op, bytes);
  const Candidate* served = first_simulated(candidates, op);
  // The environment may force an algorithm that has no schedule yet.
  const std::vector<Candidate> unforced =
      served ? std::vector<Candidate>() : rank_candidates(planner.default_costs, op, bytes);
  if (!served) served = first_simulated(unforced, op);
  if (!served)
    throw UserError::at("workload.collective", fmt::format("there is no schedule for {} yet", name_of(op)),
                        "all_reduce, all_gather, reduce_scatter, broadcast and reduce are simulated");
  Plan plan = plan_collective(planner, op, bytes, served->algorithm, served->protocol);
  plan.stands_in = served != candidates.data();
  plan.candidates = std::move(candidates);
  return plan;
}

}  // namespace fabricast
