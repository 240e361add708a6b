// Double binary tree: all_reduce up a tree of nodes and down again, chunk by chunk, in both directions at once.
//
// Half of the channels use one tree and half the other. Inside a node the GPUs form a chain that ends at the GPU next
// to the NIC. The depth is logarithmic in the number of nodes, which suits small messages. In the worst case every byte
// crosses the network twice per node, so a ring suits large messages on many nodes better [Sanders2009].
#include <algorithm>
#include <array>
#include <cmath>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/double_tree.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

/// Fractions of a block's threads that reduce upwards and broadcast downwards. A warp takes the same time for a line of
/// LL or LL128 whatever the other warps do, so each part has the rate of its warps: seven tenths go up, since a
/// reduction reads from three sources, and the rest down [NCCL-device]. In Simple half of the threads keep the memory
/// just as busy.
struct TreeThreads {
  double up = 1, down = 1;
};
TreeThreads tree_threads(const Plan& plan) {
  if (plan.protocol == Protocol::simple) return {};
  constexpr int warp = 32;
  const int up = std::max(1, plan.threads * 7 / (10 * warp)) * warp;
  const int down = std::max(warp, plan.threads - up);
  return {static_cast<double>(up) / plan.threads, static_cast<double>(down) / plan.threads};
}

bool supports(CollectiveOp op) { return op == CollectiveOp::all_reduce; }

Stream stream(const Communicator&, const Plan& plan, int channel) { return chunk_stream(plan, channel, "tree"); }

int child_position(const Communicator& comm, int type) { return child_position(comm.tree_pattern, comm.gpus(), type); }

void network_edges(const Communicator& comm, const Plan&, int channel, const EdgeSink& sink) {
  const int nic = comm.tree_shape(channel).nic_in;
  if (comm.nodes() > 1) double_tree_edges(comm.nodes(), comm.tree_index(channel), {&nic, 1}, sink);
}

/// Channels with the same NIC and tree have the same edges.
int edge_set(const Communicator& comm, int channel) {
  return 2 * comm.tree_shape(channel).nic_in + comm.tree_index(channel);
}

std::uint64_t node_role(const Communicator& comm, std::uint32_t node) { return double_tree_role(comm.nodes(), node); }

// The chain carries each byte up and down. Edges over the network end at the GPUs that the pattern gives them, all by
// the same NIC: two children and a parent share the NIC of an inner node, which is why an inner node of one tree is a
// leaf of the other.
void node_transfers(const Communicator& comm, const Plan&, int channel, std::uint32_t node,
                    std::vector<NodeTransfer>& out) {
  out.clear();
  const ChannelShape& shape = comm.tree_shape(channel);
  add_chain(out, shape.gpus);
  if (comm.nodes() < 2) return;
  const TreePlace place = double_tree(comm.nodes(), node, comm.tree_index(channel));
  if (place.parent >= 0) add_both_directions(out, shape.gpus.front(), shape.nic_in);
  for (int type = 0; type < 2; ++type)
    if (place.children[static_cast<std::size_t>(type)] >= 0)
      add_both_directions(out, shape.gpus[static_cast<std::size_t>(child_position(comm, type))], shape.nic_in);
}

/// Worker 2 * rank reduces upwards, 2 * rank + 1 broadcasts downwards; the root does both in worker 2 * rank.
class TreeProgram final : public ChannelProgram {
 public:
  TreeProgram(const Communicator& comm, const Plan& plan, int channel)
      : comm_(comm),
        plan_(plan),
        channel_(channel),
        loops_(cut_loops(plan, plan.shares[static_cast<std::size_t>(channel)], 1)),
        share_(plan.shares[static_cast<std::size_t>(channel)]),
        offset_(plan.offsets[static_cast<std::size_t>(channel)]) {}

  std::int32_t workers() const override { return static_cast<std::int32_t>(2 * comm_.ranks()); }
  Rank rank_of(std::int32_t worker) const override { return Rank(static_cast<std::uint32_t>(worker / 2)); }
  std::int64_t steps(std::int32_t worker) const override {
    const Place place = place_of(worker / 2);
    if (worker % 2 == 1 && place.parent < 0) return 0;
    return loops_.whole + (loops_.tail_chunk > 0 ? 1 : 0);
  }

  double sharers(std::int32_t worker, std::int64_t) const override {
    // The root sends down what it has reduced in one operation of all threads.
    if (place_of(worker / 2).parent < 0) return 1;
    const TreeThreads threads = tree_threads(plan_);
    return 1 / (worker % 2 == 0 ? threads.up : threads.down);
  }

  Step step(std::int32_t worker, std::int64_t index) const override {
    const Place place = place_of(worker / 2);
    const bool root = place.parent < 0;
    Step step;
    // The share is cut into chunks of one slice each: a tree has neither parts nor several slices per chunk.
    const std::int64_t begin = index * plan_.chunk;
    step.ranges = {{offset_ + begin, std::min(plan_.chunk, share_ - begin)}};
    const bool up = worker % 2 == 0;
    step.own = up;
    step.result = !up || root;
    const auto worker_of = [](std::int64_t rank, int down) { return static_cast<std::int32_t>(2 * rank + down); };
    // The root sends down in the step in which it finishes the sum, so its children receive from its upward worker.
    if (up) {
      for (const std::int64_t child : place.children)
        if (child >= 0) step.from.push_back(worker_of(child, 0));
      if (!root) step.to = {worker_of(place.parent, 0)};
    } else {
      const bool from_root = place_of(place.parent).parent < 0;
      step.from = {worker_of(place.parent, from_root ? 0 : 1)};
    }
    if (!up || root)
      for (const std::int64_t child : place.children)
        if (child >= 0) step.to.push_back(worker_of(child, 1));
    return step;
  }

 private:
  struct Place {
    std::int64_t parent = -1;                          ///< rank
    std::array<std::int64_t, 3> children{-1, -1, -1};  ///< ranks: next in the chain, then children over the network
  };

  Place place_of(std::int64_t rank) const {
    const int g = comm_.gpus();
    const std::int64_t node = rank / g;
    const std::vector<int>& chain = comm_.tree_shape(channel_).gpus;
    int position = 0;
    while (chain[static_cast<std::size_t>(position)] != rank % g) ++position;
    const auto at = [&](std::int64_t n, int p) { return n * g + chain[static_cast<std::size_t>(p)]; };
    // The first GPU of a chain connects to the parent's node; children of other nodes attach at the position of their
    // type.
    const TreePlace tree = double_tree(comm_.nodes(), node, comm_.tree_index(channel_));
    Place place;
    if (position + 1 < g) place.children[0] = at(node, position + 1);
    for (int type = 0; type < 2; ++type)
      if (tree.children[static_cast<std::size_t>(type)] >= 0 && child_position(comm_, type) == position)
        place.children[static_cast<std::size_t>(1 + type)] = at(tree.children[static_cast<std::size_t>(type)], 0);
    if (position > 0)
      place.parent = at(node, position - 1);
    else if (tree.parent >= 0)
      place.parent = at(tree.parent, child_position(comm_, tree.child_type));
    return place;
  }

  const Communicator& comm_;
  const Plan& plan_;
  int channel_;
  Loops loops_;
  std::int64_t share_, offset_;
};

std::unique_ptr<ChannelProgram> program(const Communicator& comm, const Plan& plan, int channel) {
  return std::make_unique<TreeProgram>(comm, plan, channel);
}

void adjust_costs(const Communicator& comm, const Plan& plan, ProtocolCosts& c) {
  // One part of a block's threads goes up and the other down [NCCL-device].
  if (plan.protocol == Protocol::simple) c.both_directions = comm.node.software.both_directions.value;
  const TreeThreads threads = tree_threads(plan);
  c.up = threads.up;
  c.down = threads.down;
  // With two nodes of one GPU each, all data that come down end there: the step only receives.
  c.down_alone = comm.ranks() > 2 ? c.down : std::min(1.0, c.down / c.last_receive);
  if (plan.protocol == Protocol::ll) c.hop_inside *= comm.node.software.tree_hop_ll.value;
}

/// Shorter chunks for shorter buffers, so that the tree's pipeline fills: in LL128, and before NCCL 2.20 in Simple.
void cut(const Communicator& comm, const ChunkLimits&, Plan& plan) {
  // Limits in chunks per share, by the depth of the pipeline [NCCL-enqueue-2.3]. With long chunks a deep tree would
  // wait for its first chunk instead of being full.
  const double levels = std::floor(std::log2(static_cast<double>(comm.nodes())));
  if (plan.protocol == Protocol::simple && comm.version < NcclVersion{2, 20, 0}) {
    const std::int64_t depth = comm.gpus() - 1 + static_cast<std::int64_t>(levels);
    plan.chunk = halved(plan.chunk, plan, 8 * depth, 131072);
    plan.chunk = halved(plan.chunk, plan, 4 * depth, 65536);
    plan.chunk = halved(plan.chunk, plan, depth, 32768);
  }
  if (plan.protocol == Protocol::ll128) {
    const double per_node = comm.gpus();
    const double depth = 1 + levels + 0.1 * per_node;
    const auto chunks = [&] { return static_cast<double>(largest_share(plan)) / static_cast<double>(plan.chunk); };
    while (chunks() < 64 * depth / per_node && plan.chunk > 131072) plan.chunk /= 2;
    while (chunks() < 16 * depth / per_node && plan.chunk > 32768) plan.chunk /= 2;
  }
  plan.chunk = within_share(plan.chunk, plan);
}

/// Channels of different trees are timed separately.
int timed_apart(const Communicator& comm, int channel) { return comm.tree_index(channel); }

constexpr std::array<std::string_view, 1> own_parameters = {".tree_hop_ll"};

}  // namespace

CollectiveAlgorithm tree_algorithm() {
  return {.algorithm = Algorithm::tree,
          .name = "tree",
          .summary = "double binary tree over nodes, chain of GPUs inside",
          .source = "[Sanders2009]",
          .own_parameters = own_parameters,
          .supports = supports,
          .stream = stream,
          .network_edges = network_edges,
          .node_role = node_role,
          .node_transfers = node_transfers,
          .program = program,
          .cut = cut,
          .adjust_costs = adjust_costs,
          .edge_set = edge_set,
          .timed_apart = timed_apart};
}

}  // namespace fabricast
