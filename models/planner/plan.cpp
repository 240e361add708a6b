// Makes planners and plans: channels and threads as on NCCL's enqueue path [NCCL-enqueue].
//
// A plan is what one call runs: the algorithm and protocol with the lowest estimate of the cost model, its channels and
// threads, the share of the buffer of each channel, and the chunks (chunk.cpp). Sends and receives have rules of their
// own (peers.cpp), and so have kernels on symmetric memory (symmetric.cpp). The planner makes no forecast: engines take
// plans as they are.
#include "fabricast/planner/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/planner/node_use.hpp"
#include "fabricast/planner/symmetric.hpp"
#include "plan_parts.hpp"

namespace fabricast {

namespace {

/// Whether EFA supports GPUDirect RDMA with such GPUs: with NVLink from A100 on, without NVLink from Blackwell on
/// [OFI-plugin].
bool efa_reaches(const GpuKind& gpu) { return gpu.compute_capability >= (gpu.nvlinks > 0 ? 80 : 100); }

/// Whether NICs use GPUDirect RDMA. \param distance  from the GPUs to their NICs
bool gdr_of(const Node& node, PathType distance, const NcclSettings& settings) {
  if (node.spec.gdr != Gdr::automatic) return node.spec.gdr == Gdr::on;
  if (node.spec.nics.link == LinkKind::socket || node.nics == 0) return false;
  if (node.spec.nics.link == LinkKind::efa && !efa_reaches(node.gpu)) return false;
  // The OFI and TCPX plugins ignore NCCL's rule and always use it.
  const bool plugin = node.spec.nics.link == LinkKind::efa || node.spec.nics.link == LinkKind::gpudirect_tcpx;
  const PathType level = settings.gdr_level.value_or(plugin ? PathType::SYS : PathType::P2C);
  const auto able = [](const auto& device) { return device.gdr; };  // stated by the topology file
  if (!std::all_of(node.layout.gpus.begin(), node.layout.gpus.end(), able)) return false;
  if (!std::all_of(node.layout.nics.begin(), node.layout.nics.end(), able)) return false;
  // With PXN the NIC reads the memory of the GPU close to it.
  return (distance == PathType::PXN ? PathType::PXB : distance) <= level;
}

/// Whether NICs read sent data from GPU memory. Before Ampere such reads are slow without NVLink, so NCCL stages the
/// data in host memory [NCCL-env].
bool gdr_read_of(const Node& node, const NcclSettings& settings) {
  return settings.gdr_read.value_or(node.gpu.compute_capability >= 80 || node.nvlink || node.spec.gpus == 1);
}

/// The NIC that a GPU uses itself. With a wrong binding it is the NIC with its number, regardless of distance.
int nic_of(const Node& node, int gpu) {
  if (node.spec.nics.numa == NicNuma::remote) return node.graph.number(gpu) * node.nics / node.graph.machine_gpus();
  return node.graph.nics_by_distance(gpu).front();
}

/// GPUs that reduce through the NVSwitch, without duplicates.
std::vector<int> heads_of(const SearchGraph& nvls) {
  std::vector<int> heads;
  // A graph file may repeat heads; the search does not.
  for (const ChannelShape& shape : nvls.shapes)
    if (std::find(heads.begin(), heads.end(), shape.gpus.front()) == heads.end()) heads.push_back(shape.gpus.front());
  return heads;
}

// Limits of the reduction of channels: threads of a block, and the bytes that each thread must have.
struct Sizes {
  int max_threads, threshold;  // bytes per thread
};

// NCCL's defaults [NCCL-tuning-1.7]: 8 B per thread for LL and LL128, 64 B for Simple. A ring in LL needs 8 B for each
// rank, since each step moves 1/n of the buffer.
Sizes sizes_of(const Planner& planner, Algorithm algorithm, Protocol protocol) {
  const SearchGraph& ring = planner.graphs.ring;
  const NcclSettings& settings = planner.settings;
  const bool is_ring = algorithm == Algorithm::ring;
  const std::array<std::int64_t, 3> thresholds = {is_ring ? 8 * planner.comm.ranks() : 8, 8, 64};
  std::int64_t threshold = thresholds[static_cast<std::size_t>(protocol)];
  if (is_ring || algorithm == Algorithm::tree)
    if (const std::int64_t given = settings.thread_thresholds[is_ring][static_cast<std::size_t>(protocol)]; given >= 0)
      threshold = given;
  // Bounded, so that the product with threads and channels stays finite for any number of ranks.
  const int most = static_cast<int>(std::min<std::int64_t>(threshold, 1 << 30));
  if (protocol == Protocol::ll128) return {settings.ll128_threads.value_or(640), most};
  const bool slow_ring = is_ring && protocol == Protocol::simple && ring.bw_intra * ring.channels <= 12 &&
                         settings.version < NcclVersion{2, 31, 0};
  return {settings.threads.value_or(slow_ring ? 256 : 512), most};
}

bool in_nvswitch(Algorithm algorithm) { return find_by_algorithm(algorithm)->in_nvswitch; }

/// Channels of NVLS: the number of thread blocks that saturates the NVSwitch of a generation [NCCL-enqueue-2.3].
int nvls_channels(const Planner& planner) {
  const Communicator& comm = planner.comm;
  int channels = 16;
  if (comm.node.gpu.compute_capability >= 100) {
    // NCCL's table for Blackwell, by the rate of a NIC in GB/s and by GPUs and nodes.
    const double nic = comm.node.nic_line_rate.value / 1e9;
    const bool fast = nic >= 96 ? comm.gpus() <= 8 : nic >= 48 && comm.nodes() > 2;
    const bool by_nic = planner.settings.version >= NcclVersion{2, 30, 3};
    channels = comm.nodes() == 1 || (by_nic && fast) ? 24 : 32;
  }
  const NcclSettings& settings = planner.settings;
  channels = settings.nvls_channels.value_or(channels);
  channels = std::min(channels, settings.max_channels.value_or(channels));
  return std::max(channels, settings.min_channels.value_or(channels));
}

/// Reduces channels, then threads, until each thread has at least its threshold of bytes [NCCL-tuning-1.7].
void reduce_channels(const Planner& planner, Plan& plan) {
  if (in_nvswitch(plan.algorithm)) {
    // NCCL does not reduce the channels of NVLS and NVLSTree for small calls.
    plan.channels = nvls_channels(planner);
    plan.threads = 640;
    return;
  }
  const Sizes sizes = sizes_of(planner, plan.algorithm, plan.protocol);
  std::int64_t channels = planner.comm.channels;
  int threads = sizes.max_threads;
  const auto too_little = [&] {
    return static_cast<double>(plan.bytes) < static_cast<double>(channels) * threads * sizes.threshold;
  };
  while (channels > 1 && too_little()) --channels;
  while (too_little() && threads % 128 == 0) threads /= 2;
  // A ring in Simple has a further warp, whose fences and flags overlap with the copies of the others. Trees and PAT
  // always run with all warps, because these are split into groups for the two directions.
  if (plan.algorithm == Algorithm::ring && plan.protocol == Protocol::simple) threads += 32;
  if (plan.algorithm == Algorithm::tree || plan.algorithm == Algorithm::pat) threads = 640;
  plan.threads = std::max(threads, 96);
  plan.channels = static_cast<int>(channels);
}

/// NCCL distributes the data of a call over channels in cells, each with a minimum of traffic [NCCL-enqueue-2.2].
struct Cells {
  std::int64_t traffic = 0;
  bool of_16_bytes = false;  ///< cells are 16 B, and only a channel has the minimum traffic
  bool ll_counts_4 = true;   ///< a byte in LL counts as four bytes of traffic
};
Cells cells_of(const NcclVersion& version) {
  if (version < NcclVersion{2, 23, 0}) return {512, true, false};
  if (version < NcclVersion{2, 26, 2}) return {16384, false, false};
  return {version < NcclVersion{2, 29, 2} ? 16384 : 32768};
}

/// Continuous byte distribution: channels get cells of a minimum traffic, so a small call uses fewer channels. Before
/// 2.22 channels got equal parts.
void share_out(const Planner& planner, Plan& plan) {
  const Communicator& comm = planner.comm;
  // The bytes that are cut are one rank's block where ranks have different data, and the whole buffer otherwise.
  const bool per_rank = plan.op == CollectiveOp::all_gather || plan.op == CollectiveOp::reduce_scatter;
  const std::int64_t payload = per_rank ? plan.bytes / comm.ranks() : plan.bytes;
  const int most = plan.channels;
  std::vector<std::int64_t> shares;
  if (planner.settings.version < NcclVersion{2, 22, 0}) {
    const std::int64_t part =
        std::max<std::int64_t>(16, round_up(ceil_div(std::max<std::int64_t>(payload, 1), most), 16));
    for (std::int64_t left = payload; left > 0; left -= part) shares.push_back(std::min(part, left));
  } else {
    const Cells rule = cells_of(planner.settings.version);
    const std::int64_t min_traffic = rule.traffic;
    // Traffic is what a rank's links carry per byte: an all_reduce twice, one block of each rank in an all_gather.
    std::int64_t per_byte = plan.op == CollectiveOp::all_reduce ? 2 : per_rank ? comm.ranks() : 1;
    if (plan.protocol == Protocol::ll && rule.ll_counts_4) per_byte *= 4;
    const std::int64_t cell = rule.of_16_bytes ? 16 : round_up(ceil_div(min_traffic, per_byte), 16);
    // The channels get equal traffic, at least the minimum; `cells_per_channel` is that in whole cells.
    const std::int64_t cells = ceil_div(payload, cell);
    const std::int64_t traffic = std::max(min_traffic, payload * per_byte);
    const std::int64_t per_channel = std::max<std::int64_t>(min_traffic, round_up(ceil_div(traffic, most), 16));
    const std::int64_t cells_per_channel =
        std::max<std::int64_t>(1, std::min(cells, ceil_div(per_channel, cell * per_byte)));
    // All channels get equal parts, except the last one, which gets the rest.
    for (std::int64_t left = cells; left > 0;) {
      const bool last = static_cast<int>(shares.size()) + 1 == most;
      const std::int64_t take = last ? left : std::min(left, cells_per_channel);
      const std::int64_t used = (cells - left) * cell;
      shares.push_back(std::min(take * cell, payload - used));
      left -= take;
    }
  }
  // A call of no bytes still launches one channel.
  if (shares.empty()) shares.push_back(payload);
  plan.shares = std::move(shares);
  plan.channels = static_cast<int>(plan.shares.size());
  plan.offsets.assign(plan.shares.size(), 0);
  for (std::size_t c = 1; c < plan.shares.size(); ++c) plan.offsets[c] = plan.offsets[c - 1] + plan.shares[c - 1];
}

/// The settings without NCCL_ALGO and NCCL_PROTO.
// They rank candidates if the environment leaves only algorithms without a schedule.
NcclSettings unforced(NcclSettings settings) {
  settings.algorithms.of.fill({true, true, true, true, true, true, true});
  settings.protocols.of.fill({ProtocolSwitch::on, ProtocolSwitch::automatic, ProtocolSwitch::on});
  return settings;
}

OfiPlatform platform_of(const Node& node) {
  NodeSpec host = node.spec;  // counts all hosts of a node
  host.gpus /= node.hosts;
  host.nics.count /= node.hosts;
  return ofi_platform(host, node.gpu);
}

/// Sets the latency of NICs for which no topology file states it.
void state_latency(Node& node, double latency_us) {
  for (NodeLayout::Nic& nic : node.layout.nics)
    if (nic.latency_us == 0) nic.latency_us = latency_us;
}

/// Searches for channels, and computes what follows from them.
void search_and_estimate(Planner& planner, const NcclSettings& settings) {
  Communicator& comm = planner.comm;
  planner.graphs = search_graphs(comm.node, comm.nodes(), settings);
  planner.costs = nccl_cost_model(comm.node, comm.nodes(), planner.graphs, settings);
  planner.default_costs = nccl_cost_model(comm.node, comm.nodes(), planner.graphs, unforced(settings));
  comm.rings = planner.graphs.ring.shapes;
  comm.trees = planner.graphs.tree.shapes;
  comm.heads = heads_of(planner.graphs.nvls);
  comm.cross_nic = planner.graphs.ring.cross_nic;
  comm.tree_pattern = planner.graphs.tree.pattern;
  comm.channels = planner.graphs.channels;
}

}  // namespace

Planner make_planner(Node node, std::vector<std::uint32_t> placement, std::uint32_t hosts_per_node,
                     NcclSettings settings) {
  check_paths_inside(node, settings);
  Planner planner;
  planner.settings = std::move(settings);
  Communicator& comm = planner.comm;
  comm.node = std::move(node);
  planner.ofi = platform_of(comm.node);
  state_latency(comm.node, ofi_latency_us(planner.ofi, planner.settings.version));
  comm.placement = std::move(placement);
  comm.hosts_per_node = hosts_per_node;
  comm.nodes_per_host = static_cast<std::uint32_t>(comm.node.parts);
  if (comm.ranks() < 2)
    throw UserError::at("cluster.nodes", "a single GPU cannot communicate", "a collective needs at least two ranks");
  if (comm.nodes() > 1 && comm.node.nics == 0)
    throw UserError::at("node.nics.count", fmt::format("{} nodes, but no NICs to connect them", comm.nodes()));
  // The search runs before the paths to NICs are decided: it works on NCCL's own view of the node. What follows
  // describes the paths that data really takes.
  search_and_estimate(planner, planner.settings);
  if (comm.node.nics > 0)
    for (int g = 0; g < comm.gpus(); ++g) comm.nic_of_gpu.push_back(nic_of(comm.node, g));
  comm.pxn = uses_pxn(comm.node, planner.settings);
  comm.to_nic = nic_distance(comm.node, comm.pxn);
  // With unified memory NCCL stages in host memory, but it is the same memory, so staging costs no PCIe transfer.
  const bool unified = comm.node.gpu.unified_memory;
  comm.gdr = unified || gdr_of(comm.node, comm.to_nic, planner.settings);
  // Access Control Services divert traffic between devices of a PCIe switch through the CPU. NCCL does not see this.
  const bool by_switch = comm.to_nic == PathType::PIX || comm.to_nic == PathType::PXB;
  const bool by_cpu = comm.to_nic == PathType::PHB || comm.to_nic == PathType::SYS;
  comm.gdr_by_cpu = comm.gdr && !unified && (by_cpu || (by_switch && comm.node.spec.acs));
  comm.gdr_read = gdr_read_of(comm.node, planner.settings);
  comm.p2p_pxn = comm.pxn && planner.settings.p2p_pxn_level.value_or(2) == 2;
  comm.qps_per_connection = planner.settings.qps_per_connection;
  comm.split_data_on_qps = planner.settings.split_data_on_qps;
  comm.version = planner.settings.version;
  return planner;
}

void use_sharp(Planner& planner, SharpService sharp) {
  planner.comm.sharp = std::move(sharp);
  const Communicator& comm = planner.comm;
  if (comm.sharp.available() || !uses_collnet(comm.node, comm.nodes(), planner.settings)) return;
  // Without aggregation NCCL continues without CollNet and its channels.
  NcclSettings without = planner.settings;
  without.collnet_enable = false;
  search_and_estimate(planner, without);
}

bool works_in_place(const Planner& planner, NcclVersion since) {
  if (planner.comm.version < since) return false;
  switch (planner.buffers) {
    case Buffers::plain: return false;
    case Buffers::registered: return planner.settings.local_register.value_or(true);
    case Buffers::symmetric: return planner.settings.window_enable.value_or(true);
  }
  return false;
}

bool is_simulated(const Communicator& comm, CollectiveOp op, Algorithm algorithm, Protocol protocol) {
  const CollectiveAlgorithm* found = find_by_algorithm(algorithm);
  return found && can_run(*found, comm, op, protocol);
}

Plan plan_collective(const Planner& planner, CollectiveOp op, std::int64_t bytes, Algorithm algorithm,
                     Protocol protocol, std::optional<int> channels) {
  if (is_point_to_point(op)) return plan_peers(planner, op, bytes);
  Plan plan;
  plan.op = op;
  plan.bytes = bytes;
  plan.algorithm = algorithm;
  plan.protocol = protocol;
  // Registration saves copies only for NVLS here; those that it saves in rings and trees are not modelled.
  plan.registered = in_nvswitch(algorithm) && works_in_place(planner, nvls_in_place);
  reduce_channels(planner, plan);
  // Threads stay as NCCL chose them for its own number of channels [NCCL-tuner-9.1]. Registration comes after the tuner.
  if (plan.registered)
    plan.channels = registered_nvls_channels(planner, op);
  else if (channels)
    plan.channels = std::min(*channels, planner.comm.channels);
  share_out(planner, plan);
  choose_chunk(planner, plan);
  return plan;
}

namespace {

/// All usable algorithms and protocols, sorted by NCCL's estimate. Ties are in NCCL's order, since 2.31 in reverse
/// order.
std::vector<Candidate> rank_candidates(const CostTable& costs, CollectiveOp op, std::int64_t bytes) {
  std::vector<Candidate> list;
  for (std::size_t a = 0; a < algorithm_count; ++a)
    for (std::size_t p = 0; p < 3; ++p) {
      const double t = costs.time(op, static_cast<Algorithm>(a), static_cast<Protocol>(p), bytes);
      if (t >= 0) list.push_back({static_cast<Algorithm>(a), static_cast<Protocol>(p), t});
    }
  if (costs.version >= NcclVersion{2, 31, 0}) std::reverse(list.begin(), list.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const Candidate& a, const Candidate& b) { return a.estimate_us < b.estimate_us; });
  return list;
}

TunedShape shape_of(const Communicator& comm) {
  return {static_cast<std::uint64_t>(comm.nodes()), static_cast<std::uint64_t>(comm.ranks())};
}

/// The rule of the profile for a call, if NCCL allows what it says; null otherwise.
const TunerRule* allowed_rule(const Planner& planner, CollectiveOp op, std::int64_t bytes,
                              const std::vector<Candidate>& list) {
  const TunerRule* rule =
      find_rule(planner.settings.tuner, op, shape_of(planner.comm), static_cast<std::uint64_t>(bytes));
  const auto is_it = [&](const Candidate& c) { return c.algorithm == rule->algorithm && c.protocol == rule->protocol; };
  return rule && std::any_of(list.begin(), list.end(), is_it) ? rule : nullptr;
}

/// Moves the choice of a tuner to the front, if one makes a choice. NCCL loads one tuner: with a profile, it is not that
/// of the OFI plugin.
Chooser let_tuner_choose(const Planner& planner, CollectiveOp op, std::int64_t bytes, const TunerRule* rule,
                         std::vector<Candidate>& list) {
  const Communicator& comm = planner.comm;
  auto at = list.begin();
  if (rule) {
    while (at->algorithm != rule->algorithm || at->protocol != rule->protocol) ++at;
  } else {
    const Candidate* wanted = ofi_choice(planner.ofi, planner.settings, op, bytes, comm.nodes(), comm.ranks(), list);
    if (!wanted) return Chooser::nccl;
    at += wanted - list.data();
  }
  // The others keep NCCL's order behind it.
  std::rotate(list.begin(), at, at + 1);
  return rule ? Chooser::tuner : Chooser::ofi_tuner;
}

/// The plan of an algorithm that NCCL runs without its table, if one applies.
std::optional<Plan> taken_plan(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  // Copy engines exist from 2.28 on [NCCL-ce].
  const bool in_place = works_in_place(planner, NcclVersion{2, 28, 0});
  const CallTerms terms{in_place ? planner.buffers : Buffers::plain, planner.settings.zero_blocks};
  for (const CollectiveAlgorithm& a : collective_algorithms())
    if (a.take)
      if (std::optional<Plan> plan = a.take(planner.comm, terms, op, bytes)) return plan;
  return std::nullopt;
}

const Candidate* first_simulated(const Communicator& comm, const std::vector<Candidate>& list, CollectiveOp op) {
  const auto it = std::find_if(list.begin(), list.end(),
                               [&](const Candidate& c) { return is_simulated(comm, op, c.algorithm, c.protocol); });
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

Plan plan_collective(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  if (is_point_to_point(op)) return plan_peers(planner, op, bytes);
  std::vector<Candidate> candidates = rank_candidates(planner.costs, op, bytes);
  const TunerRule* rule = allowed_rule(planner, op, bytes, candidates);
  const Chooser chooser = let_tuner_choose(planner, op, bytes, rule, candidates);
  const Candidate* served = first_simulated(planner.comm, candidates, op);
  // The environment may force an algorithm without a schedule.
  const std::vector<Candidate> unforced =
      served ? std::vector<Candidate>() : rank_candidates(planner.default_costs, op, bytes);
  if (!served) served = first_simulated(planner.comm, unforced, op);
  if (!served)
    throw UserError::at("workload.collective", fmt::format("{} has no schedule yet", name_of(op)),
                        "all_reduce, all_gather, reduce_scatter, broadcast and reduce are simulated");
  std::optional<int> channels;
  if (rule && served == candidates.data() && tuner_may_limit(rule->algorithm, shape_of(planner.comm)))
    channels = rule->channels;
  Plan plan = plan_collective(planner, op, bytes, served->algorithm, served->protocol, channels);
  // Also true after a fallback to unforced candidates, which are in another list.
  plan.stands_in = served != candidates.data();
  plan.candidates = std::move(candidates);
  plan.chooser = chooser;
  // NCCL asks a tuner or follows the policy, but not both.
  const auto efficient = chooser == Chooser::nccl ? efficient_choice(planner, op, plan) : std::nullopt;
  if (efficient && is_simulated(planner.comm, op, efficient->algorithm, efficient->protocol)) {
    Plan few = plan_collective(planner, op, bytes, efficient->algorithm, efficient->protocol);
    few.candidates = std::move(plan.candidates);
    plan = std::move(few);
  }
  if (std::optional<Plan> taken = taken_plan(planner, op, bytes)) {
    taken->candidates = std::move(plan.candidates);
    return *taken;
  }
  if (planner.buffers != Buffers::symmetric || !without_symmetric(planner, op, bytes).empty()) return plan;
  // NCCL does not use its table here; the candidates are kept for comparison.
  Plan kernel = plan_symmetric(planner, op, bytes);
  kernel.candidates = std::move(plan.candidates);
  return kernel;
}

}  // namespace fabricast
