// CollNetChain: on every channel a chain of GPUs reduces the data of a node towards the GPU next to the NIC, the
// fabric's switches reduce over the nodes (SHARP), and the result goes back along the chain [NCCL-device].
#include <array>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

namespace {

bool supports(CollectiveOp op) { return op == CollectiveOp::all_reduce; }

bool fits(const Communicator& comm, CollectiveOp, Protocol protocol) {
  return protocol == Protocol::simple && comm.nodes() > 1 && comm.sharp.available();
}

Stream stream(const Communicator&, const Plan& plan, int channel) { return chunk_stream(plan, channel, "sharp_chain"); }

// SHARP's tree of the NIC at which the channel's chain ends.
const AggregationTree& tree_of(const Communicator& comm, int channel) {
  return comm.sharp.trees[static_cast<std::size_t>(comm.tree_shape(channel).nic_in)];
}
void network_trees(const Communicator& comm, const Plan&, int channel, const TreeSink& sink) {
  sink(tree_of(comm, channel));
}
void node_transfers(const Communicator& comm, const Plan&, int channel, std::uint32_t, std::vector<NodeTransfer>& out) {
  out.clear();
  const ChannelShape& shape = comm.tree_shape(channel);
  add_chain(out, shape.gpus);
  add_both_directions(out, shape.gpus.front(), shape.nic_in);
}

/// Worker 2r reduces on rank r, and 2r + 1 forwards the result. The last worker is the tree in the switches.
class ChainProgram final : public ChannelProgram {
 public:
  ChainProgram(const Communicator& comm, const Plan& plan, int channel)
      : comm_(comm),
        plan_(plan),
        shape_(comm.tree_shape(channel)),
        tree_(tree_of(comm, channel)),
        share_(plan.shares[static_cast<std::size_t>(channel)]),
        offset_(plan.offsets[static_cast<std::size_t>(channel)]),
        loops_(cut_loops(plan, share_, 1)) {}

  std::int32_t workers() const override { return network() + 1; }
  Rank rank_of(std::int32_t worker) const override {
    return Rank(static_cast<std::uint32_t>(worker < network() ? worker / 2 : 0));
  }
  // Every worker, that of the switches included, handles each chunk once.
  std::int64_t steps(std::int32_t) const override { return loops_.whole + (loops_.tail_chunk > 0 ? 1 : 0); }

  Step step(std::int32_t worker, std::int64_t index) const override {
    Step step;
    const std::int64_t begin = std::min(index * plan_.chunk, share_);
    step.ranges = {{offset_ + begin, std::min(plan_.chunk, share_ - begin)}};
    if (worker == network()) {
      step.in_switches = &tree_;
      for (std::int64_t node = 0; node < comm_.nodes(); ++node) {
        step.from.push_back(worker_at(node, 0, false));
        step.to.push_back(worker_at(node, 0, true));
      }
      return step;
    }
    const std::int64_t node = worker / 2 / comm_.gpus();
    const auto chain = shape_.gpus;
    const auto position =
        static_cast<int>(std::find(chain.begin(), chain.end(), worker / 2 % comm_.gpus()) - chain.begin());
    const bool down = worker % 2 == 1, last = position + 1 == comm_.gpus();
    // The same neighbours on both trips, with the directions swapped. The first GPU's upper neighbour is the tree in
    // the switches, which belongs to no rank.
    std::vector<std::int32_t>&above = down ? step.from : step.to, &below = down ? step.to : step.from;
    above.push_back(position == 0 ? network() : worker_at(node, position - 1, down));
    if (!last) below.push_back(worker_at(node, position + 1, down));
    step.own = !down;
    step.result = down;
    return step;
  }

 private:
  std::int32_t network() const { return static_cast<std::int32_t>(2 * comm_.ranks()); }
  std::int32_t worker_at(std::int64_t node, int position, bool down) const {
    return static_cast<std::int32_t>(2 * (node * comm_.gpus() + shape_.gpus[static_cast<std::size_t>(position)]) +
                                     down);
  }

  const Communicator& comm_;
  const Plan& plan_;
  const ChannelShape& shape_;
  const AggregationTree& tree_;
  std::int64_t share_, offset_;
  Loops loops_;
};

std::unique_ptr<ChannelProgram> program(const Communicator& comm, const Plan& plan, int channel) {
  return std::make_unique<ChainProgram>(comm, plan, channel);
}

/// One part of a block's threads goes up and the other down [NCCL-device].
void adjust_costs(const Communicator& comm, const Plan&, ProtocolCosts& c) {
  c.both_directions = comm.node.software.both_directions.value;
}

/// Shorter chunks for shorter shares, so that the stages overlap.
void cut(const Communicator& comm, const ChunkLimits& limits, Plan& plan) {
  const std::int64_t depth = comm.gpus();
  plan.chunk = std::min<std::int64_t>(262144, limits.simple_slot);
  plan.chunk = halved(plan.chunk, plan, 64 * depth, 131072);
  plan.chunk = halved(plan.chunk, plan, 8 * depth, 65536);
  plan.chunk = halved(plan.chunk, plan, depth, 32768);
  plan.chunk = within_share(plan.chunk, plan);
}

constexpr std::array<std::string_view, 1> own_parameters = {".sharp_"};

}  // namespace

CollectiveAlgorithm collnetchain_algorithm() {
  return {.algorithm = Algorithm::collnetchain,
          .name = "collnetchain",
          .summary = "chain of GPUs to the NIC, switches reduce between nodes",
          .source = "[SHARP-manual]",
          .own_parameters = own_parameters,
          .supports = supports,
          .fits = fits,
          .stream = stream,
          .network_trees = network_trees,
          .node_transfers = node_transfers,
          .program = program,
          .cut = cut,
          .adjust_costs = adjust_costs};
}

}  // namespace fabricast
