// Collectives of data parallelism of one stage; data_parallel.hpp lists what each ZeRO stage gathers and reduces. Calls
// are queued where a framework issues them, in buckets, and the timeline decides how much of them stays exposed.
#include "data_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "fabricast/core/names.hpp"
#include "linear_layers.hpp"

namespace fabricast {

namespace {

// Parameters are gathered in 16 bits; casts to fewer bits follow on each rank.
constexpr double parameter_bytes = 2;  // per gathered parameter

HeldParameters sum(const std::vector<HeldParameters>& list) {
  HeldParameters all;
  for (const HeldParameters& held : list) {
    all.plain += held.plain;
    all.experts += held.experts;
  }
  return all;
}

}  // namespace

DataParallel::DataParallel(const TrainingStep& step, ProgramBuilder& builder, StageQueue& queue, int stage,
                           std::vector<HeldParameters> layers)
    : step_(step),
      builder_(builder),
      queue_(queue),
      layers_(std::move(layers)),
      gathered_(layers_.size(), no_activity) {
  const ParallelLayout& layout = step.layout;
  const RankGroups ranks = groups_of(layout, stage, {Dimension::context, Dimension::data});
  const int all = layout.context * layout.data;
  shard_ = shards() ? layout.shard : 1;
  // Without sharding one all-reduce spans all ranks. With it, the remaining all-reduce spans the ranks of the same
  // shard.
  replicas_ = shards() ? all / layout.shard : all;
  // Ranks of a shard are neighbours, so with hybrid sharding gathers stay close and only the all-reduce of shards goes
  // far.
  if (shard_ > 1) shard_groups_ = builder.groups(split_neighbours(ranks, shard_));
  if (replicas_ > 1) replica_groups_ = builder.groups(split_apart(ranks, replicas_));
  if (all_reduces() && all > 1) all_groups_ = replicas_ > 1 ? builder.groups(ranks) : shard_groups_;
  if (step.model.experts > 0) {
    const RankGroups holders = layout.expert_tensor > 1
                                   ? ranks
                                   : groups_of(layout, stage, {Dimension::tensor, Dimension::context, Dimension::data});
    // Ranks that hold the same experts; their gradients are reduced among these alone.
    expert_replicas_ = static_cast<int>(holders.front().size()) / layout.expert;
    if (expert_replicas_ > 1) expert_groups_ = builder.groups(split_apart(holders, expert_replicas_));
  }
}

// Without overlap, or without replicas, layers of one pass can be queued as one run, which keeps the program small.
bool DataParallel::by_layer(bool last_micro_batch) const {
  if (!step_.overlap_data || (shard_ == 1 && replicas_ == 1)) return false;
  return gathers_layers() || reduces_always() || last_micro_batch;
}

std::uint32_t DataParallel::kind(std::uint32_t groups, CollectiveOp op, double bytes) {
  CollectiveKind k;
  k.name = fmt::format("{} {}", name_of(Part::data), name_of(op));
  k.part = Part::data;
  k.op = op;
  k.bytes = std::max<std::int64_t>(1, std::llround(bytes));
  k.groups = groups;
  return builder_.collective(std::move(k));
}

int DataParallel::calls(double bytes) const {
  // The tensor that fills a bucket closes it. FSDP sends one layer per call, whatever its size.
  const bool layers = step_.zero == 3 || (step_.zero == 2 && step_.stack.framework == Framework::fsdp);
  if (layers || !step_.overlap_data) return 1;
  return std::max(1, static_cast<int>(bytes / static_cast<double>(step_.bucket.value)));
}

std::uint32_t DataParallel::collective(std::uint32_t groups, CollectiveOp op, double bytes, int calls) {
  return queue_.collective(kind(groups, op, bytes / calls), data, calls);
}

std::uint32_t DataParallel::gather(const HeldParameters& held, int calls) {
  std::uint32_t last = no_activity;
  if (held.plain > 0 && shard_ > 1)
    last = collective(shard_groups_, CollectiveOp::all_gather, held.plain * parameter_bytes, calls);
  if (held.experts > 0 && expert_replicas_ > 1)
    last = collective(expert_groups_, CollectiveOp::all_gather, held.experts * parameter_bytes, calls);
  return last;
}

/// One call per owner, of which there are no more than tensors. The next owner needs what comes before its own tensors,
/// so the calls run one after the other.
std::uint32_t DataParallel::broadcast(const HeldParameters& held) {
  std::uint32_t last = no_activity;
  const double tensors = tensors_of_layer(step_.model) * static_cast<double>(layers_.size()) + 2;
  const auto send = [&](std::uint32_t groups, double parameters, int ranks) {
    const int calls = static_cast<int>(std::min<double>(ranks, tensors));
    if (parameters > 0 && ranks > 1)
      last = collective(groups, CollectiveOp::broadcast, parameters * parameter_bytes, calls);
  };
  send(shard_groups_, held.plain, shard_);
  send(expert_groups_, held.experts, expert_replicas_);
  return last;
}

// Parameters for the first forward pass, in buckets, all queued at once: they overlap the computation of layers whose
// parameters have already arrived.
void DataParallel::begin_step() {
  if (!gathers_ahead()) return;
  HeldParameters bucket;
  std::size_t first = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    bucket.plain += layers_[l].plain;
    bucket.experts += layers_[l].experts;
    const double bytes = (bucket.plain + bucket.experts) * parameter_bytes;
    if (bytes < static_cast<double>(step_.bucket.value) && l + 1 < layers_.size()) continue;
    const std::uint32_t id = gather(bucket, calls(bytes));
    for (; first <= l; ++first) gathered_[first] = id;
    bucket = {};
  }
}

void DataParallel::before(int layer, int then, bool first_micro_batch) {
  auto& mine = gathered_[static_cast<std::size_t>(layer)];
  if (gathers_layers()) {
    // Prefetched, unless this is the first layer of the pass. The next layer is gathered before this one is waited for,
    // so that both overlap.
    if (mine == no_activity) mine = gather(layers_[static_cast<std::size_t>(layer)]);
    prefetch(then);
    queue_.wait_for(mine);
    mine = no_activity;
  } else if (first_micro_batch && mine != no_activity) {
    queue_.wait_for(mine);
    mine = no_activity;
  }
}

void DataParallel::prefetch(int layer) {
  if (layer < 0 || !gathers_layers() || !step_.overlap_data) return;
  gathered_[static_cast<std::size_t>(layer)] = gather(layers_[static_cast<std::size_t>(layer)]);
}

void DataParallel::flush() {
  const double bytes = step_.stack.gradient_bytes * step_.compression;
  const int n = calls((waiting_.plain + waiting_.experts) * step_.stack.gradient_bytes);
  // Sharded gradients are needed by their owner only. Where ranks own whole tensors, and in some optimizers, gradients
  // are all-reduced over all ranks (docs/models/training.md).
  const CollectiveOp op = shards() && !all_reduces() ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  const auto add = [&](std::uint32_t groups, CollectiveOp what, double parameters) {
    if (parameters > 0) reductions_.push_back(collective(groups, what, parameters * bytes, n));
  };
  if (all_reduces()) {
    if (shard_ * replicas_ > 1) add(all_groups_, op, waiting_.plain);
  } else {
    if (shard_ > 1) add(shard_groups_, op, waiting_.plain);
    if (replicas_ > 1) add(replica_groups_, CollectiveOp::all_reduce, waiting_.plain / shard_);
  }
  if (expert_replicas_ > 1) add(expert_groups_, op, waiting_.experts);
  waiting_ = {};
}

void DataParallel::reduce(int layer, int count, bool last_micro_batch) {
  if (!last_micro_batch && !reduces_always()) return;
  for (int l = layer; l < layer + count; ++l) {
    waiting_.plain += layers_[static_cast<std::size_t>(l)].plain;
    waiting_.experts += layers_[static_cast<std::size_t>(l)].experts;
  }
  // Without overlap all gradients wait for finish().
  if (!step_.overlap_data && !reduces_always()) return;
  const double bytes = (waiting_.plain + waiting_.experts) * step_.stack.gradient_bytes;
  if (step_.zero == 3 || bytes >= static_cast<double>(step_.bucket.value)) flush();
  if (!step_.overlap_data)
    for (const std::uint32_t id : std::exchange(reductions_, {})) queue_.wait_for(id);
}

void DataParallel::finish() {
  flush();
  for (const std::uint32_t id : reductions_) queue_.wait_for(id);
  // The optimizer works on what the rank owns: its shard, or all of it without sharding.
  const HeldParameters all = sum(layers_);
  const double held = all.plain / shard_ + all.experts / (shards() ? expert_replicas_ : 1);
  queue_.work(optimizer(step_.kernels, Bytes{std::llround(held * step_.stack.optimizer.value)}), Part::optimizer,
              "optimizer");
  if (shards() && !gathers_layers() && !gathers_ahead()) queue_.wait_for(owners() ? broadcast(all) : gather(all));
}

}  // namespace fabricast
