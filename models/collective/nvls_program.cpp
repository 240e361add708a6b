#include "nvls_program.hpp"

#include "fabricast/collective/double_tree.hpp"

namespace fabricast {

namespace {

/// Chunks that one loop takes off a channel's share.
std::int64_t chunks_per_loop(const Communicator& comm, const Plan& plan) {
  return plan.op == CollectiveOp::all_reduce ? static_cast<std::int64_t>(comm.heads.size()) : 1;
}

class NvlsProgram final : public ChannelProgram {
 public:
  NvlsProgram(const Communicator& comm, const Plan& plan, int channel)
      : comm_(comm),
        plan_(plan),
        tree_(channel % 2),
        share_(plan.shares[static_cast<std::size_t>(channel)]),
        offset_(plan.offsets[static_cast<std::size_t>(channel)]),
        loops_(cut_loops(plan, share_, chunks_per_loop(comm, plan))) {}

  std::int32_t workers() const override { return static_cast<std::int32_t>(4 * comm_.ranks()); }
  Rank rank_of(std::int32_t worker) const override { return Rank(static_cast<std::uint32_t>(worker / 4)); }

  std::int64_t steps(std::int32_t worker) const override {
    const std::int64_t loops = loops_.whole + (loops_.tail_chunk > 0 ? 1 : 0);
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

  bool is_flag(std::int32_t from, std::int32_t to) const override { return node_of(from) == node_of(to); }
  /// A head moves one chunk while the others copy those of all heads.
  int sharers(std::int32_t worker) const override {
    const bool head = worker % 4 == up || worker % 4 == down;
    return head ? static_cast<int>(comm_.heads.size()) : 1;
  }
  std::array<int, 2> nics(std::int32_t from, std::int32_t) const override {
    const int nic = comm_.nic_of_gpu[static_cast<std::size_t>(from / 4 % comm_.gpus())];
    return {nic, nic};
  }

 private:
  enum Part { copy_in, up, down, copy_out };

  std::int64_t node_of(std::int32_t worker) const { return worker / 4 / comm_.gpus(); }
  /// Number of the head on this worker's GPU; -1: it is none.
  std::int64_t head_of(std::int32_t worker) const {
    const auto it = std::find(comm_.heads.begin(), comm_.heads.end(), worker / 4 % comm_.gpus());
    return it == comm_.heads.end() ? -1 : it - comm_.heads.begin();
  }
  TreePlace place_of(std::int32_t worker) const {
    return comm_.nodes() == 1 ? TreePlace{} : double_tree(comm_.nodes(), node_of(worker), tree_);
  }
  std::int32_t worker_at(std::int64_t node, int gpu, Part part) const {
    return static_cast<std::int32_t>((node * comm_.gpus() + gpu) * 4 + part);
  }

  ByteRange range(std::int64_t head, std::int64_t loop) const {
    const std::int64_t chunk = loop < loops_.whole ? plan_.chunk : loops_.tail_chunk;
    const auto cut = [&](std::int64_t begin, std::int64_t from) {
      const std::int64_t clipped = std::min(begin, share_);
      return ByteRange{from + clipped, std::min(chunk, share_ - clipped)};
    };
    if (plan_.op != CollectiveOp::all_reduce)  // the part of the head's rank
      return cut(loop * plan_.chunk, comm_.heads[static_cast<std::size_t>(head)] * (plan_.bytes / comm_.ranks()) + offset_);
    const auto heads = static_cast<std::int64_t>(comm_.heads.size());
    return cut(loop * plan_.chunk * heads + head * chunk, offset_);
  }

  using Ends = std::vector<std::int32_t> Step::*;
  static constexpr Ends step_to_heads = &Step::to, step_from_heads = &Step::from;
  Step copy_step(std::int32_t worker, std::int64_t loop, Ends ends) const {
    Step step;
    step.split = true;
    const bool root = place_of(worker).parent < 0;
    const Part part = ends == step_to_heads || root ? up : down;
    for (std::size_t h = 0; h < comm_.heads.size(); ++h) {
      step.ranges.push_back(range(static_cast<std::int64_t>(h), loop));
      (step.*ends).push_back(worker_at(node_of(worker), comm_.heads[h], part));
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

  Step up_step(std::int32_t worker, std::int64_t loop) const {
    const TreePlace place = place_of(worker);
    Step step;
    step.in_nvswitch = true;
    step.ranges = {range(head_of(worker), loop)};
    if (plan_.op == CollectiveOp::all_gather)
      step.own = true;
    else
      add_node(step.from, worker, copy_in);
    add_heads(step.from, worker, place.children, up);
    if (place.parent >= 0) {
      step.to = {worker_at(place.parent, worker / 4 % comm_.gpus(), up)};
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
    const bool from_root = double_tree(comm_.nodes(), place.parent, tree_).parent < 0;
    Step step;
    step.in_nvswitch = true;
    step.ranges = {range(head_of(worker), loop)};
    step.from = {worker_at(place.parent, worker / 4 % comm_.gpus(), from_root ? up : down)};
    add_node(step.to, worker, copy_out);
    add_heads(step.to, worker, place.children, down);
    return step;
  }

  const Communicator& comm_;
  const Plan& plan_;
  int tree_;
  std::int64_t share_, offset_;
  Loops loops_;
};

}  // namespace

Stream nvls_stream(const Communicator& comm, const Plan& plan, int channel) {
  Stream s;
  s.pattern = StreamPattern::nvls;
  s.slots = plan.slots;
  const Loops loops = cut_loops(plan, plan.shares[static_cast<std::size_t>(channel)], chunks_per_loop(comm, plan));
  s.loops = loops.whole, s.slices = 1, s.slice = plan.chunk;
  if (loops.tail_chunk > 0) s.tail_slices = 1, s.tail_slice = loops.tail_chunk;
  return s;
}

std::unique_ptr<ChannelProgram> nvls_program(const Communicator& comm, const Plan& plan, int channel) {
  return std::make_unique<NvlsProgram>(comm, plan, channel);
}

}  // namespace fabricast
