// Rings: all_reduce, all_gather and reduce_scatter around one ring per channel; broadcast and reduce along it.
//
// An all_reduce is a reduce-scatter followed by an all-gather. Every rank sends 2(n-1)/n of the buffer, the minimum for
// an all-reduce [Patarasuk2009]. The price is 2(n-1) dependent steps, so a tree is faster for small messages. Rings
// visit node after node. So on each channel a node has one connection in and one out, and connections join NICs of the
// same number [NCCL-connect].
#include <algorithm>
#include <array>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

bool supports(CollectiveOp op) { return op <= CollectiveOp::all_reduce; }

/// Chunks of a channel's share that one loop moves.
// An all_reduce cuts the share into one chunk for each rank; the other operations move one chunk per loop, of each
// rank's block where ranks have blocks.
std::int64_t parts_per_loop(CollectiveOp op, std::int64_t ranks) { return op == CollectiveOp::all_reduce ? ranks : 1; }

/// A channel's ring inside a node. With crossNic 2 the two rings of a pair swap at every second node, so that a
/// connection joins NICs of the same number [NCCL-search].
const ChannelShape& shape_at(const Communicator& comm, int channel, std::int64_t node) {
  if (comm.cross_nic == 2 && node % 2 == 1 && comm.rings.size() % 2 == 0) channel ^= 1;
  return comm.ring_shape(channel);
}

/// Position of a chain's first rank in its node. A broadcast starts at the root, rank 0. A reduce starts at the next
/// rank and ends at the root.
int chain_start(const Communicator& comm, CollectiveOp op, int channel) {
  const std::vector<int>& gpus = shape_at(comm, channel, 0).gpus;
  const auto root = static_cast<int>(std::find(gpus.begin(), gpus.end(), 0) - gpus.begin());
  return op == CollectiveOp::broadcast ? root : (root + 1) % comm.gpus();
}

Stream stream(const Communicator& comm, const Plan& plan, int channel) {
  const std::int64_t n = comm.ranks();
  Stream s;
  s.timing = is_chain(plan.op) ? "chain" : "ring";
  // A rank sends in every step but the last, which only receives.
  s.sends = is_chain(plan.op) ? 1 : plan.op == CollectiveOp::all_reduce ? 2 * (n - 1) : n - 1;
  if (is_chain(plan.op)) s.start = chain_start(comm, plan.op, channel);
  s.slots = plan.slots;
  const Loops loops = cut_loops(plan, plan.shares[static_cast<std::size_t>(channel)], parts_per_loop(plan.op, n));
  const SliceSize whole = slice_chunk(plan, plan.chunk);
  s.loops = loops.whole;
  s.slices = whole.count;
  s.slice = whole.size;
  if (loops.tail_chunk > 0) {
    const SliceSize tail = slice_chunk(plan, loops.tail_chunk);
    s.tail_slices = tail.count;
    s.tail_slice = tail.size;
  }
  return s;
}

// One connection from each node to the next on every channel, whatever the number of GPUs. Ranks are numbered by node,
// so the ring follows the order of nodes and knows nothing of the fabric [NCCL-connect].
void network_edges(const Communicator& comm, const Plan& plan, int channel, const EdgeSink& sink) {
  const auto nodes = static_cast<std::uint32_t>(comm.nodes());
  if (nodes < 2) return;
  // A chain that starts at the first GPU of a node does not return to that node.
  const bool open = is_chain(plan.op) && chain_start(comm, plan.op, channel) == 0;
  const std::uint32_t left_out = !open ? nodes : plan.op == CollectiveOp::broadcast ? nodes - 1 : 0;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    if (i == left_out) continue;
    const std::uint32_t next = i + 1 == nodes ? 0 : i + 1;
    sink({i, next, static_cast<std::uint16_t>(shape_at(comm, channel, i).nic_out),
          static_cast<std::uint16_t>(shape_at(comm, channel, next).nic_in)});
  }
}

/// Channels repeat the rings that the search found, so copies of a ring have the same edges.
int edge_set(const Communicator& comm, int channel) { return channel % static_cast<int>(comm.rings.size()); }

// On several nodes the ring enters at the first GPU and leaves at the last one; on one node it is closed by NVLink or
// PCIe. A chain counts the whole ring as well, although one link of it stays idle.
void node_transfers(const Communicator& comm, const Plan&, int channel, std::uint32_t node,
                    std::vector<NodeTransfer>& out) {
  out.clear();
  const ChannelShape& shape = shape_at(comm, channel, node);
  const std::size_t g = shape.gpus.size();
  if (comm.nodes() > 1) out.push_back({NodeTransfer::Kind::nic_to_gpu, shape.nic_in, shape.gpus.front()});
  for (std::size_t i = 0; i + 1 < g; ++i)
    out.push_back({NodeTransfer::Kind::gpu_to_gpu, shape.gpus[i], shape.gpus[i + 1]});
  if (comm.nodes() > 1)
    out.push_back({NodeTransfer::Kind::gpu_to_nic, shape.gpus.back(), shape.nic_out});
  else if (g > 1)
    out.push_back({NodeTransfer::Kind::gpu_to_gpu, shape.gpus.back(), shape.gpus.front()});
}

/// Workers are positions on the ring.
class RingProgram final : public ChannelProgram {
 public:
  RingProgram(const Communicator& comm, const Plan& plan, int channel)
      : comm_(comm),
        plan_(plan),
        channel_(channel),
        n_(comm.ranks()),
        stream_(stream(comm, plan, channel)),
        share_(plan.shares[static_cast<std::size_t>(channel)]),
        offset_(plan.offsets[static_cast<std::size_t>(channel)]) {
    if (is_chain(plan.op))
      for (std::int32_t w = 0; w < workers(); ++w)
        if (position_rank(w) == 0) root_ = w;
  }

  std::int32_t workers() const override { return static_cast<std::int32_t>(n_); }
  Rank rank_of(std::int32_t worker) const override { return Rank(static_cast<std::uint32_t>(position_rank(worker))); }

  // Loops come one after the other; within a loop all slices of a step precede the next step, as in NCCL's primitives.
  std::int64_t steps(std::int32_t) const override {
    const std::int64_t per_loop = is_chain(plan_.op) ? 1 : stream_.sends + 1;
    return per_loop * (stream_.loops * stream_.slices + stream_.tail_slices);
  }

  Step step(std::int32_t worker, std::int64_t index) const override {
    const std::int64_t per_loop = is_chain(plan_.op) ? 1 : stream_.sends + 1;
    std::int64_t loop = index / (per_loop * stream_.slices);
    int slices = stream_.slices;
    std::int64_t chunk = plan_.chunk, slice_size = stream_.slice;
    std::int64_t within = index;
    // The last loop has shorter chunks and, where these are short, fewer slices.
    if (loop >= stream_.loops) {
      loop = stream_.loops;
      slices = stream_.tail_slices;
      slice_size = stream_.tail_slice;
      chunk = cut_loops(plan_, share_, parts_per_loop(plan_.op, n_)).tail_chunk;
    }
    within -= loop * per_loop * stream_.slices;
    const std::int64_t s = within / slices, slice = within % slices;
    Step step = is_chain(plan_.op) ? chain_step(worker, loop, chunk) : ring_step(worker, loop, s, chunk);
    // Cut the slice out of the chunk.
    ByteRange& range = step.ranges.front();
    const std::int64_t begin = std::min(range.size, slice * slice_size);
    range = {range.begin + begin, std::min(slice_size, range.size - begin)};
    step.slice = static_cast<int>(slice);
    return step;
  }

 private:
  std::int64_t position_rank(std::int32_t position) const {
    const int g = comm_.gpus();
    const std::int64_t node = position / g;
    return node * g + shape_at(comm_, channel_, node).gpus[static_cast<std::size_t>(position % g)];
  }
  std::int32_t next(std::int32_t w) const { return w + 1 == workers() ? 0 : w + 1; }
  std::int32_t previous(std::int32_t w) const { return w == 0 ? workers() - 1 : w - 1; }

  Step chain_step(std::int32_t worker, std::int64_t loop, std::int64_t chunk) const {
    Step step;
    step.ranges = {{offset_ + loop * plan_.chunk, std::min(chunk, share_ - loop * plan_.chunk)}};
    const bool broadcast = plan_.op == CollectiveOp::broadcast;
    // Only the root has data in a broadcast, and only the root gets the result of a reduce.
    const bool first = broadcast ? worker == root_ : previous(worker) == root_;
    const bool last = broadcast ? next(worker) == root_ : worker == root_;
    if (!first) step.from = {previous(worker)};
    if (!last) step.to = {next(worker)};
    step.own = !broadcast || first;
    step.result = broadcast || last;
    return step;
  }

  Step ring_step(std::int32_t worker, std::int64_t loop, std::int64_t s, std::int64_t chunk) const {
    Step step;
    if (s > 0) step.from = {previous(worker)};
    if (s < stream_.sends) step.to = {next(worker)};
    const auto around = [&](std::int64_t p) { return ((p % n_) + n_) % n_; };
    switch (plan_.op) {
      case CollectiveOp::all_reduce: {
        // At step s, position p handles chunk p - s. After n - 1 steps a chunk holds every rank's contribution.
        const std::int64_t part = around(worker - s), base = loop * plan_.chunk * n_ + part * chunk;
        step.ranges = {clip(offset_ + base, chunk, offset_ + share_)};
        step.own = s < n_;
        step.result = s >= n_ - 1;
        break;
      }
      case CollectiveOp::all_gather: {
        // Position p forwards the block of the rank s positions before it.
        const std::int64_t block = position_rank(static_cast<std::int32_t>(around(worker - s)));
        step.ranges = {block_range(block, loop, chunk)};
        step.own = s == 0;
        step.result = true;
        break;
      }
      default: {
        // reduce_scatter: a block ends at its owner, so it starts at the position after it.
        const std::int64_t block = position_rank(static_cast<std::int32_t>(around(worker - 1 - s)));
        step.ranges = {block_range(block, loop, chunk)};
        step.own = true;
        step.result = s == n_ - 1;
        break;
      }
    }
    return step;
  }

  static ByteRange clip(std::int64_t begin, std::int64_t size, std::int64_t end) {
    begin = std::min(begin, end);
    return {begin, std::min(size, end - begin)};
  }
  /// A chunk of this channel's share of a rank's block.
  ByteRange block_range(std::int64_t block, std::int64_t loop, std::int64_t chunk) const {
    const std::int64_t per_rank = plan_.bytes / n_;
    const std::int64_t begin = block * per_rank + offset_ + loop * plan_.chunk;
    return clip(begin, chunk, block * per_rank + offset_ + share_);
  }

  const Communicator& comm_;
  const Plan& plan_;
  int channel_;
  std::int64_t n_;
  Stream stream_;
  std::int64_t share_, offset_;
  std::int32_t root_ = 0;
};

std::unique_ptr<ChannelProgram> program(const Communicator& comm, const Plan& plan, int channel) {
  return std::make_unique<RingProgram>(comm, plan, channel);
}

/// The threads of a ring meet at a barrier after every step. So a step that fills more warps takes longer immediately,
/// and lines are not forwarded one by one. A chain has no such barrier.
void adjust_costs(const Communicator& comm, const Plan& plan, ProtocolCosts& c) {
  if (is_chain(plan.op)) return;
  c.cut_through = false;
  if (plan.protocol == Protocol::ll) c.burst = comm.node.architecture.ll_burst.us();
  if (comm.nodes() == 1) return;
  // Next to a NIC, slices are announced by flags over PCIe.
  if (plan.protocol == Protocol::simple) c.network_slice = comm.node.network.nic_slice.us();
  // LL128 has a fence before it notifies the proxy thread: from sm_90 on one of the whole system [NCCL-protocols].
  if (plan.protocol == Protocol::ll128) c.network_slice = comm.node.architecture.fence_ll128.us();
}

/// In Simple a chunk is four slots and is sent in two slices of two slots each.
void cut(const Communicator&, const ChunkLimits& limits, Plan& plan) {
  if (is_chain(plan.op) || plan.protocol != Protocol::simple) return;
  plan.chunk = 4 * limits.simple_slot;
  plan.slices_per_chunk = 2;
  plan.least_slice = 2 * limits.simple_slot / 32;
  plan.slots /= 2;
}

constexpr std::array<std::string_view, 1> own_parameters = {".issue_gap"};

}  // namespace

CollectiveAlgorithm ring_algorithm() {
  return {.algorithm = Algorithm::ring,
          .name = "ring",
          .summary = "2(n-1) steps around a ring per channel, minimum volume",
          .source = "[Patarasuk2009]",
          .own_parameters = own_parameters,
          .supports = supports,
          .stream = stream,
          .network_edges = network_edges,
          .node_transfers = node_transfers,
          .program = program,
          .cut = cut,
          .adjust_costs = adjust_costs,
          .edge_set = edge_set};
}

}  // namespace fabricast
