// PAT: all_gather and reduce_scatter in log2(n) dimensions; short blocks are aggregated in one message (pat.hpp).
//
// All ranks do the same. A rank has one worker that sends and one that receives. A block must have arrived before it is
// forwarded, so a chunk takes a chain of log2(n) hops where a ring takes n - 1. Few blocks go over the farther half of
// the dimensions, so the upper tiers of a fabric carry little.
#include "fabricast/collective/pat.hpp"

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

int pat_dimensions(std::int64_t ranks) { return log2_up(ranks); }

std::vector<std::int64_t> pat_parents(std::int64_t ranks, int dimension) {
  std::vector<std::int64_t> parents;
  const std::int64_t reach = std::int64_t{1} << dimension;
  for (std::int64_t x = 0; x + reach < ranks; x += 2 * reach) parents.push_back(x);
  return parents;
}

std::int64_t pat_blocks_per_message(const Plan& plan, std::int64_t ranks, std::int64_t share) {
  std::int64_t blocks = 1;
  const std::int64_t block = std::max<std::int64_t>(1, share);
  // NCCL doubles while two more blocks fit, up to the n / 2 that the nearest dimension carries.
  while (plan.chunk / (block * blocks) >= 2 && blocks < ranks / 2) blocks *= 2;
  return blocks;
}

namespace {

bool supports(CollectiveOp op) { return op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter; }
// Several GPUs per node need a schedule inside the node that NCCL has only from 2.31 on, and that is not modelled.
bool fits(const Communicator& comm, CollectiveOp, Protocol protocol) {
  return protocol == Protocol::simple && comm.gpus() == 1 && comm.nodes() > 1;
}

Stream stream(const Communicator&, const Plan& plan, int channel) { return chunk_stream(plan, channel, "pat"); }

void network_edges(const Communicator& comm, const Plan& plan, int, const EdgeSink& sink) {
  const std::int64_t n = comm.ranks();
  const auto nic = static_cast<std::uint16_t>(comm.nic_of_gpu.front());
  for (int d = 0; d < pat_dimensions(n); ++d) {
    // Each dimension has one connection per rank; its weight is the number of blocks that cross it.
    const auto blocks = static_cast<std::uint32_t>(pat_parents(n, d).size());
    for (std::int64_t r = 0; r < n; ++r) {
      const auto near = static_cast<std::uint32_t>(r),
                 far = static_cast<std::uint32_t>((r + (std::int64_t{1} << d)) % n);
      const bool gather = plan.op == CollectiveOp::all_gather;
      sink({gather ? near : far, gather ? far : near, nic, nic, blocks});
    }
  }
}

// Each rank sends and receives n - 1 blocks in total, as in a ring.
void node_transfers(const Communicator& comm, const Plan&, int, std::uint32_t, std::vector<NodeTransfer>& out) {
  out.clear();
  add_both_directions(out, 0, comm.nic_of_gpu.front(), static_cast<double>(comm.ranks() - 1));
}

/// Worker 2r sends for rank r, worker 2r + 1 receives.
class PatProgram final : public ChannelProgram {
 public:
  PatProgram(const Communicator& comm, const Plan& plan, int channel)
      : plan_(plan),
        n_(comm.ranks()),
        gather_(plan.op == CollectiveOp::all_gather),
        share_(plan.shares[static_cast<std::size_t>(channel)]),
        offset_(plan.offsets[static_cast<std::size_t>(channel)]),
        loops_(cut_loops(plan, share_, 1)) {
    list_steps(pat_blocks_per_message(plan, n_, share_));
  }

  std::int32_t workers() const override { return static_cast<std::int32_t>(2 * n_); }
  Rank rank_of(std::int32_t worker) const override { return Rank(static_cast<std::uint32_t>(worker / 2)); }
  std::int64_t steps(std::int32_t worker) const override {
    const std::int64_t loops = loops_.whole + (loops_.tail_chunk > 0 ? 1 : 0);
    return loops * static_cast<std::int64_t>(list(worker).size());
  }
  Step step(std::int32_t worker, std::int64_t index) const override {
    const auto per_loop = static_cast<std::int64_t>(list(worker).size());
    const std::int64_t loop = index / per_loop;
    const Entry& entry = list(worker)[static_cast<std::size_t>(index % per_loop)];
    const std::int64_t rank = worker / 2, reach = std::int64_t{1} << entry.dimension;
    const std::int64_t next = (rank + reach) % n_, previous = (rank + n_ - reach % n_) % n_;
    const auto sender = static_cast<std::int32_t>(2 * rank), receiver = sender + 1;
    Step step;
    switch (entry.what) {
      case What::start:  // the rank's own block is present; no rank adds to the block of the farthest owner
        step.own = step.waits = true;
        gather_ ? step.result = true : step.keep = true;
        break;
      case What::send:
        !gather_&& entry.dimension == 0 ? step.own = true : step.kept = true;
        step.to = {static_cast<std::int32_t>(2 * (gather_ ? next : previous) + 1)};
        break;
      case What::receive:
        step.from = {static_cast<std::int32_t>(2 * (gather_ ? previous : next))};
        if (gather_) {
          step.result = true;
        } else {
          entry.dimension == 0 ? step.own = true : step.kept = true;
          step.keep = true;
        }
        if (entry.forwarded) step.to = {sender};
        break;
      case What::wait:
        step.from = {receiver};
        step.waits = true;
        break;
      case What::finish: step.kept = step.result = step.waits = true; break;
    }
    for (const std::int64_t distance : entry.distances) step.ranges.push_back(range((rank + n_ - distance) % n_, loop));
    return step;
  }
  bool is_flag(std::int32_t from, std::int32_t to) const override { return from / 2 == to / 2; }

 private:
  enum class What { start, send, receive, wait, finish };
  /// A step, the same for all ranks. Blocks are given by the rank's distances from their owners.
  struct Entry {
    What what;
    int dimension = 0;
    std::vector<std::int64_t> distances;
    bool forwarded = false;
  };
  const std::vector<Entry>& list(std::int32_t worker) const { return worker % 2 == 0 ? send_ : receive_; }

  ByteRange range(std::int64_t owner, std::int64_t loop) const {
    const std::int64_t begin = std::min(loop * plan_.chunk, share_);
    return {owner * (plan_.bytes / n_) + offset_ + begin, std::min(plan_.chunk, share_ - begin)};
  }

  // Steps of one loop in order. An all_gather goes down the trees, the longest edges first; a reduce_scatter goes up
  // them, the shortest edges first. After the messages of a dimension the sender waits for flags of its receiver: the
  // next dimension forwards what has arrived.
  void list_steps(std::int64_t per_message) {
    const int dimensions = pat_dimensions(n_);
    if (gather_)
      send_.push_back({What::start, 0, {0}});
    else if (n_ % 2 == 1)
      send_.push_back({What::start, 0, {n_ - 1}});
    for (int i = 0; i < dimensions; ++i) {
      const int d = gather_ ? dimensions - 1 - i : i;
      const std::int64_t reach = std::int64_t{1} << d;
      const bool last = i + 1 == dimensions;
      std::vector<Entry> waits;
      const std::vector<std::int64_t> parents = pat_parents(n_, d);
      for (std::size_t first = 0; first < parents.size(); first += static_cast<std::size_t>(per_message)) {
        std::vector<std::int64_t> above, below;
        for (std::size_t k = first; k < std::min(parents.size(), first + static_cast<std::size_t>(per_message)); ++k) {
          above.push_back(parents[k]);
          below.push_back(parents[k] + reach);
        }
        // A gather sends down the tree to x + 2^d, a scatter up to x.
        send_.push_back({What::send, d, gather_ ? above : below});
        receive_.push_back({What::receive, d, gather_ ? below : above, !last});
        if (!last) waits.push_back({What::wait, d, gather_ ? below : above});
      }
      send_.insert(send_.end(), waits.begin(), waits.end());
    }
    if (!gather_) receive_.push_back({What::finish, 0, {0}});
  }

  const Plan& plan_;
  std::int64_t n_;
  bool gather_;
  std::int64_t share_, offset_;
  Loops loops_;
  std::vector<Entry> send_, receive_;  ///< steps of one loop
};

std::unique_ptr<ChannelProgram> program(const Communicator& comm, const Plan& plan, int channel) {
  return std::make_unique<PatProgram>(comm, plan, channel);
}

/// A NIC that sends to another node on every dimension reaches only the efficiency of sends and receives.
void adjust_costs(const Communicator& comm, const Plan&, ProtocolCosts& c) {
  if (comm.nodes() > 1) c.wire /= comm.node.network.peer_efficiency.value;
}

/// Shorter chunks for shorter buffers.
void cut(const Communicator&, const ChunkLimits&, Plan& plan) {
  const std::int64_t least = plan.op == CollectiveOp::all_gather ? 32 : 16;
  while (plan.chunk > 65536 && plan.chunk * plan.channels * least > plan.bytes) plan.chunk /= 2;
}

}  // namespace

CollectiveAlgorithm pat_algorithm() {
  return {.algorithm = Algorithm::pat,
          .name = "pat",
          .summary = "binomial tree per block, log2(n) dimensions",
          .source = "[NCCL-PAT]",
          .in_dimensions = true,
          .own_flags_free = true,
          .edges_by_op = true,
          .supports = supports,
          .fits = fits,
          .stream = stream,
          .network_edges = network_edges,
          .node_transfers = node_transfers,
          .program = program,
          .cut = cut,
          .adjust_costs = adjust_costs};
}

}  // namespace fabricast
