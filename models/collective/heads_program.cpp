// Transfer view of collectives with heads: every GPU has four workers, which copy in, reduce at a head, distribute from
// a head, and copy out. heads_program.hpp lists their numbers.
//
// On one node, and at the root of a tree, a head reduces and distributes in one step, so its downward worker has no
// steps. With SHARP all nodes are children of one worker per head that stands for the switches.
#include "heads_program.hpp"

#include "fabricast/collective/double_tree.hpp"

namespace fabricast {

namespace {

/// Chunks of a channel's share that one loop moves.
std::int64_t chunks_per_loop(const Plan& plan, std::size_t heads) {
  return plan.op == CollectiveOp::all_reduce ? static_cast<std::int64_t>(heads) : 1;
}

class HeadsProgram final : public ChannelProgram {
 public:
  HeadsProgram(const Communicator& comm, const Plan& plan, int channel, const Heads& heads)
      : comm_(comm),
        plan_(plan),
        tree_(channel % 2),
        share_(plan.shares[static_cast<std::size_t>(channel)]),
        offset_(plan.offsets[static_cast<std::size_t>(channel)]),
        heads_(heads),
        loops_(cut_loops(plan, share_, chunks_per_loop(plan, heads.gpus.size()))) {}

  std::int32_t workers() const override {
    return first_tree() + static_cast<std::int32_t>(heads_.sharp ? heads_.gpus.size() : 0);
  }
  Rank rank_of(std::int32_t worker) const override {
    return Rank(static_cast<std::uint32_t>(worker < first_tree() ? worker / 4 : 0));
  }

  std::int64_t steps(std::int32_t worker) const override {
    const std::int64_t loops = loops_.whole + (loops_.tail_chunk > 0 ? 1 : 0);
    if (worker >= first_tree()) return loops;
    // Nothing is copied in where each rank has only its own block (all_gather), and nothing is copied out where it only
    // needs its own (reduce_scatter).
    const bool is_head = head_of(worker) >= 0, root = place_of(worker).parent < 0;
    switch (static_cast<Part>(worker % 4)) {
      case copy_in: return plan_.op == CollectiveOp::all_gather ? 0 : loops;
      case up: return is_head ? loops : 0;
      case down: return is_head && !root ? loops : 0;
      case copy_out: return plan_.op == CollectiveOp::reduce_scatter ? 0 : loops;
    }
    return 0;
  }

  Step step(std::int32_t worker, std::int64_t loop) const override {
    if (worker >= first_tree()) return tree_step(worker - first_tree(), loop);
    switch (static_cast<Part>(worker % 4)) {
      case copy_in: {
        Step step = copy_step(worker, loop, step_to_heads);
        step.own = true;
        return step;
      }
      case copy_out: {
        Step step = copy_step(worker, loop, step_from_heads);
        step.result = true;
        return step;
      }
      case up: return up_step(worker, loop);
      case down: return down_step(worker, loop);
    }
    return {};
  }

  // With the NVSwitch the bytes cross its links in the head's step; messages between copy workers and heads are flags.
  bool is_flag(std::int32_t from, std::int32_t to) const override {
    if (from >= first_tree() || to >= first_tree()) return false;
    return heads_.nvswitch && node_of(from) == node_of(to);
  }
  /// Without the NVSwitch a head reduces what all GPUs send, while the other workers copy the chunks of all heads.
  double sharers(std::int32_t worker, std::int64_t) const override {
    const bool head = worker < first_tree() && (worker % 4 == up || worker % 4 == down);
    return head && !heads_.nvswitch ? static_cast<int>(heads_.gpus.size()) : 1;
  }
  int nodes_beside(std::int32_t worker) const override {
    return worker >= first_tree() || heads_.sharp ? 0 : place_of(worker).neighbours();
  }
  std::array<int, 2> nics(std::int32_t from, std::int32_t) const override {
    const int nic = comm_.nic_of_gpu[static_cast<std::size_t>(from / 4 % comm_.gpus())];
    return {nic, nic};
  }

 private:
  enum Part { copy_in, up, down, copy_out };

  /// Workers of the trees in the switches, one for each head, follow those of the ranks.
  std::int32_t first_tree() const { return static_cast<std::int32_t>(4 * comm_.ranks()); }
  std::int64_t node_of(std::int32_t worker) const { return worker / 4 / comm_.gpus(); }
  /// Number of the head on this worker's GPU; -1: the GPU is no head.
  std::int64_t head_of(std::int32_t worker) const {
    const auto it = std::find(heads_.gpus.begin(), heads_.gpus.end(), worker / 4 % comm_.gpus());
    return it == heads_.gpus.end() ? -1 : it - heads_.gpus.begin();
  }
  /// Place of the worker's node in the tree over nodes. With SHARP all nodes are children of the switches.
  TreePlace place_of(std::int32_t worker) const {
    if (heads_.sharp) return {in_the_network, 0, {-1, -1}};
    return comm_.nodes() == 1 ? TreePlace{} : double_tree(comm_.nodes(), node_of(worker), tree_);
  }
  // A parent that is no node: it only tells that the node is not the root.
  static constexpr std::int64_t in_the_network = std::int64_t{1} << 40;
  std::int32_t worker_at(std::int64_t node, int gpu, Part part) const {
    return static_cast<std::int32_t>((node * comm_.gpus() + gpu) * 4 + part);
  }

  // The range of a head in a loop: its chunk of the share in an all_reduce, a chunk of its rank's block otherwise.
  ByteRange range(std::int64_t head, std::int64_t loop) const {
    const std::int64_t chunk = loop < loops_.whole ? plan_.chunk : loops_.tail_chunk;
    const auto cut = [&](std::int64_t begin, std::int64_t from) {
      const std::int64_t clipped = std::min(begin, share_);
      return ByteRange{from + clipped, std::min(chunk, share_ - clipped)};
    };
    if (plan_.op != CollectiveOp::all_reduce)  // the block of the head's rank
      return cut(loop * plan_.chunk,
                 heads_.gpus[static_cast<std::size_t>(head)] * (plan_.bytes / comm_.ranks()) + offset_);
    const auto heads = static_cast<std::int64_t>(heads_.gpus.size());
    return cut(loop * plan_.chunk * heads + head * chunk, offset_);
  }

  using Ends = std::vector<std::int32_t> Step::*;
  static constexpr Ends step_to_heads = &Step::to, step_from_heads = &Step::from;
  Step copy_step(std::int32_t worker, std::int64_t loop, Ends ends) const {
    Step step;
    step.split = true;
    step.waits = plan_.registered;  // heads work on the caller's buffer, so nothing is copied
    // The root's result comes from its upward worker, since it has no downward one.
    const bool root = place_of(worker).parent < 0;
    const Part part = ends == step_to_heads || root ? up : down;
    for (std::size_t h = 0; h < heads_.gpus.size(); ++h) {
      step.ranges.push_back(range(static_cast<std::int64_t>(h), loop));
      (step.*ends).push_back(worker_at(node_of(worker), heads_.gpus[h], part));
    }
    return step;
  }

  void add_node(std::vector<std::int32_t>& workers, std::int32_t worker, Part part) const {
    for (int g = 0; g < comm_.gpus(); ++g) workers.push_back(worker_at(node_of(worker), g, part));
  }
  void add_heads(std::vector<std::int32_t>& workers, std::int32_t worker, std::span<const std::int64_t> nodes,
                 Part part) const {
    for (const std::int64_t node : nodes)
      if (node >= 0) workers.push_back(worker_at(node, worker / 4 % comm_.gpus(), part));
  }

  // A head adds its node's data and what the heads of its children's nodes sent, and passes the sum to the parent.
  // Without a parent the sum is final: it goes to the copy workers and down the tree.
  Step up_step(std::int32_t worker, std::int64_t loop) const {
    const TreePlace place = place_of(worker);
    Step step;
    step.in_nvswitch = heads_.nvswitch;
    step.ranges = {range(head_of(worker), loop)};
    if (plan_.op == CollectiveOp::all_gather)
      step.own = true;
    else
      add_node(step.from, worker, copy_in);
    add_heads(step.from, worker, place.children, up);
    if (place.parent >= 0) {
      step.to = {heads_.sharp ? first_tree() + static_cast<std::int32_t>(head_of(worker))
                              : worker_at(place.parent, worker / 4 % comm_.gpus(), up)};
      return step;
    }
    if (plan_.op == CollectiveOp::reduce_scatter) {
      step.result = true;
      return step;
    }
    add_node(step.to, worker, copy_out);
    add_heads(step.to, worker, place.children, down);
    return step;
  }

  Step down_step(std::int32_t worker, std::int64_t loop) const {
    const TreePlace place = place_of(worker);
    // The root has no downward worker, so its children listen to the upward one.
    const bool from_root = !heads_.sharp && double_tree(comm_.nodes(), place.parent, tree_).parent < 0;
    Step step;
    step.in_nvswitch = heads_.nvswitch;
    step.ranges = {range(head_of(worker), loop)};
    step.from = {heads_.sharp ? first_tree() + static_cast<std::int32_t>(head_of(worker))
                              : worker_at(place.parent, worker / 4 % comm_.gpus(), from_root ? up : down)};
    add_node(step.to, worker, copy_out);
    add_heads(step.to, worker, place.children, down);
    return step;
  }

  Step tree_step(std::int32_t head, std::int64_t loop) const {
    const int gpu = heads_.gpus[static_cast<std::size_t>(head)];
    Step step;
    step.in_switches = &comm_.sharp.trees[static_cast<std::size_t>(comm_.nic_of_gpu[static_cast<std::size_t>(gpu)])];
    step.ranges = {range(head, loop)};
    // The switches take the head's sum of every node and send the total back to all of them.
    for (std::int64_t node = 0; node < comm_.nodes(); ++node) {
      step.from.push_back(worker_at(node, gpu, up));
      step.to.push_back(worker_at(node, gpu, down));
    }
    return step;
  }

  const Communicator& comm_;
  const Plan& plan_;
  int tree_;
  std::int64_t share_, offset_;
  Heads heads_;
  Loops loops_;
};

}  // namespace

Stream heads_stream(const Plan& plan, int channel, std::size_t heads, std::string_view timing) {
  return chunk_stream(plan, channel, timing, chunks_per_loop(plan, heads));
}

void head_trees(const Communicator& comm, const Plan&, int, const TreeSink& sink) {
  for (const AggregationTree& tree : comm.sharp.trees) sink(tree);
}

void cut_for_heads(const Communicator& comm, const ChunkLimits& limits, std::int64_t longest,
                   std::span<const HeadsLimit> shorter, Plan& plan) {
  const bool all_reduce = plan.op == CollectiveOp::all_reduce;
  const auto heads = static_cast<std::int64_t>(comm.heads.size());
  // NCCL compares with the size that nccl-tests counts: the whole buffer, also where a share is a part of one block.
  const std::int64_t buffer = all_reduce ? largest_share(plan) : largest_share(plan) * comm.ranks();
  std::int64_t chunk = longest;
  for (const HeadsLimit& l : shorter)
    if (buffer < l.loops * heads * chunk) chunk = std::min(chunk, l.chunk);
  // NCCL has no buffers of its own to fill then, so it moves a whole slot at once.
  if (plan.registered && !all_reduce) chunk = limits.simple_slot;
  plan.chunk = within_share(chunk, plan, all_reduce ? heads : 1);
}

// NVLS replaces the costs of Simple: hop, rate of copies, and overhead are parameters of their own
// (docs/models/nvls.md). `last_receive` is 1, because every GPU copies out all chunks.
void nvswitch_costs(const Communicator& comm, const Plan& plan, ProtocolCosts& c) {
  const Architecture& gpu = comm.node.architecture;
  c.hop_inside = gpu.nvls_hop.us();
  c.copy_rate = gpu.nvls_rate.gbps();
  c.copies = static_cast<double>(comm.heads.size());
  c.last_receive = 1;
  // With registered buffers the heads reduce and store in place: nothing is copied in or out.
  if (plan.registered) {
    c.copies = 1;
    c.in_place = true;
  }
  // The chunks of the heads are copied one after the other, and each copy has to drain.
  c.slice = c.copies * gpu.nvls_slice.us();
}

std::unique_ptr<ChannelProgram> heads_program(const Communicator& comm, const Plan& plan, int channel,
                                              const Heads& heads) {
  return std::make_unique<HeadsProgram>(comm, plan, channel, heads);
}

}  // namespace fabricast
