// Enumerates the splits of a training step: degrees that divide GPUs, heads, layers, experts and batch, and of these
// the ones that fit in memory (docs/models/training-answers.md has the table of values).
//
// A split is described by `--set` words on the scenario, so the same rules as for a user's scenario apply to it.
// with_split derives what follows from the degrees (schedule, shards, sequence parallelism), and words_of must say the
// same in words; plan_parallel checks that both agree.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "fabricast/core/names.hpp"
#include "fabricast/report/plan.hpp"
#include "fabricast/workload/step_memory.hpp"

namespace fabricast {

namespace {

// Bounds of the search (docs/models/training-answers.md). The scenario's own values may exceed them.
constexpr int most_stages = 64, most_chunks = 8, most_micro_batch = 16;
/// Context parallelism leaves at least this many tokens per rank.
constexpr std::int64_t least_tokens = 4096;

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

/// From the fastest to the one that needs least memory. With fused attention, `selective` is pointless: the scores that
/// it computes again are never kept.
std::vector<Recompute> recomputations(const TrainingStep& base) {
  std::vector<Recompute> kinds{Recompute::none};
  if (!base.stack.fused_attention) kinds.push_back(Recompute::selective);
  if (base.stack.framework == Framework::fsdp || base.recompute.kind == Recompute::ops) kinds.push_back(Recompute::ops);
  kinds.push_back(Recompute::full);
  return kinds;
}

// The scenario's own values are always candidates, even if they are not among the usual ones: its row must be in the
// table.
template <class T>
void add_own(std::vector<T>& list, T own) {
  if (std::find(list.begin(), list.end(), own) == list.end()) list.push_back(own);
}

// Loops over degrees from the outside in: tensor, context, pipeline, chunks; the number of replicas follows.
// Micro-batch, experts and ZeRO are inside, where the batch can be checked.
class Enumeration {
 public:
  explicit Enumeration(const World& world)
      : world_(world),
        base_(step_of(world)),
        own_(split_of(base_)),
        gpus_(base_.layout.ranks()),
        domain_(nvlink_ranks(world.scenario())) {}

  SplitSearch run() {
    Split s;
    for (const int tensor : tensor_degrees())
      for (const int context : context_degrees()) {
        s.tensor = tensor;
        s.context = context;
        if (gpus_ % (std::int64_t{tensor} * context) != 0) continue;
        for (const int pipeline : stages(gpus_ / tensor / context)) {
          s.pipeline = pipeline;
          s.data = static_cast<int>(gpus_ / tensor / context / pipeline);
          for (const int chunks : interleaves(pipeline)) {
            s.interleave = chunks;
            with_batches(s);
          }
        }
      }
    std::stable_sort(found_.candidates.begin(), found_.candidates.end(),
                     [](const SplitCandidate& a, const SplitCandidate& b) { return a.estimate < b.estimate; });
    return std::move(found_);
  }

 private:
  // Inside the NVLink domain only, because tensor parallelism communicates in every layer and little of it overlaps.
  // Heads and feed-forward width must divide.
  std::vector<int> tensor_degrees() const {
    std::vector<int> list;
    for (int t = 1; t <= domain_; ++t)
      if (domain_ % t == 0 && base_.model.heads % t == 0 && base_.model.ffn % t == 0 &&
          (is_power_of_two(t) || t == own_.tensor))
        list.push_back(t);
    add_own(list, own_.tensor);
    return list;
  }
  // Two chunks per rank, one from each end of the sequence, balance causal attention, so the sequence divides by 2 c.
  std::vector<int> context_degrees() const {
    std::vector<int> list;
    for (int c = 1; base_.model.sequence / c >= least_tokens || c == 1; c *= 2)
      if (base_.model.sequence % (std::int64_t{2} * c) == 0 || c == 1) list.push_back(c);
    add_own(list, own_.context);
    return list;
  }
  std::vector<int> stages(std::int64_t ranks) const {
    std::vector<int> list;
    for (int p = 1; p <= std::min<std::int64_t>({ranks, base_.model.layers, most_stages}); ++p)
      if (ranks % p == 0 && (is_power_of_two(p) || base_.model.layers % p == 0)) list.push_back(p);
    if (ranks % own_.pipeline == 0) add_own(list, own_.pipeline);
    return list;
  }
  // Chunks need not hold equally many layers: `run` balances what is left over.
  std::vector<int> interleaves(int pipeline) const {
    std::vector<int> list{1};
    if (pipeline == 1) return list;
    const int layers = base_.model.layers / pipeline;
    for (int v = 2; v <= std::min(layers, most_chunks); ++v) list.push_back(v);
    if (layers > most_chunks && base_.model.layers % pipeline == 0) list.push_back(layers);
    if (pipeline == own_.pipeline) add_own(list, own_.interleave);
    return list;
  }
  // Experts are held by ranks of the same stage: replicas and context ranks, and tensor ranks too if they do not split
  // each expert.
  std::vector<int> expert_degrees(const Split& s) const {
    if (base_.model.experts == 0) return {1};
    std::vector<int> list;
    const std::int64_t holders = std::int64_t{s.data} * s.context * (base_.layout.expert_tensor == 1 ? s.tensor : 1);
    for (int e = 1; e <= std::min<std::int64_t>(holders, base_.model.experts); ++e)
      if (holders % e == 0 && base_.model.experts % e == 0 && (is_power_of_two(e) || e == own_.expert))
        list.push_back(e);
    return list;
  }
  std::vector<int> zeros(const Split& s) const {
    if (s.data * s.context == 1) return {0};
    std::vector<int> list = zero_stages(base_.stack.framework);
    add_own(list, own_.zero);
    // With a pipeline, gradients stay unsharded until the last micro-batch, so stage 2 saves nothing.
    if (s.pipeline > 1) std::erase_if(list, [&](int z) { return z == 2 && z != own_.zero; });
    return list;
  }

  void with_batches(Split s) {
    std::vector<int> micros;
    for (int b = 1; b <= most_micro_batch; b *= 2) micros.push_back(b);
    add_own(micros, own_.micro_batch);
    const std::vector<int> degrees = expert_degrees(s), shares = zeros(s);
    for (const int micro : micros) {
      const std::int64_t at_once = std::int64_t{micro} * s.data;
      const bool divides =
          base_.global_batch % at_once == 0 && (s.interleave == 1 || base_.global_batch / at_once % s.pipeline == 0);
      // Counted with all their ZeRO stages and degrees of experts, so that the counts of the result add up to
      // `considered`.
      const std::size_t alike = degrees.size() * shares.size();
      found_.considered += alike;
      if (!divides) {
        found_.not_divided += alike;
        continue;
      }
      s.micro_batch = micro;
      for (const int expert : degrees)
        for (const int zero : shares) {
          s.expert = expert;
          s.zero = zero;
          fit(s);
        }
    }
  }

  /// Adds the split with the weakest recomputation with which it fits in memory.
  /// Recomputation only costs time, so stronger kinds are not worth a forecast once a weaker one fits. The scenario's
  /// own split keeps its kind.
  void fit(Split s) {
    std::vector<Recompute> kinds = recomputations(base_);
    if (s == without_recompute(own_)) kinds = {own_.recompute};
    for (const Recompute r : kinds) {
      s.recompute = r;
      const TrainingStep step = with_split(base_, s);
      const double bytes = peak_memory(step.model, memory_question(step, domain_)).total();
      if (bytes > largest_memory(s) * static_cast<double>(step.kernels.memory.value)) continue;
      found_.candidates.push_back({s, whole_bytes(bytes), estimate_step(world_, step)});
      return;
    }
    ++found_.not_fitting;
  }

  static Split without_recompute(Split s) { return s.recompute = Recompute::none, s; }

  /// Fraction of a GPU's memory that a split may need. The scenario's own split may be as near the limit as `run`
  /// accepts. No other split that may not fit is worth proposing.
  double largest_memory(const Split& s) const {
    if (s != own_) return 1;
    const bool checked = world_.scenario().workload.training.memory == MemoryCheck::check;
    return checked ? 1 + memory_uncertainty : std::numeric_limits<double>::infinity();
  }

  const World& world_;
  const TrainingStep base_;
  const Split own_;
  std::int64_t gpus_;
  int domain_;
  SplitSearch found_;
};

}  // namespace

// What the frameworks offer: Megatron and NeMo shard the optimizer state (distributed optimizer), FSDP shards gradients
// or also parameters, DDP shards nothing, DeepSpeed has all stages.
std::vector<int> zero_stages(Framework framework) {
  switch (framework) {
    case Framework::megatron:
    case Framework::nemo: return {0, 1};
    case Framework::fsdp: return {2, 3};
    case Framework::ddp: return {0};
    default: return {0, 1, 2, 3};
  }
}

Split split_of(const TrainingStep& step) {
  const ParallelLayout& l = step.layout;
  return {l.tensor, l.context, l.pipeline,       step.interleave,    l.data,
          l.expert, step.zero, step.micro_batch, step.recompute.kind};
}

TrainingStep with_split(const TrainingStep& base, const Split& s) {
  // The scenario's own step is returned as it is, including settings that a split does not describe, such as uneven
  // layers or a partial sharding group.
  if (s == split_of(base)) return base;
  TrainingStep step = base;
  ParallelLayout& l = step.layout;
  // Sequence parallelism goes with tensor parallelism, unless the scenario has tensor parallelism without it.
  step.sequence_parallel = s.tensor > 1 && (base.layout.tensor == 1 || base.sequence_parallel);
  if (l.expert_tensor > 1) l.expert_tensor = s.tensor;
  l.tensor = s.tensor;
  l.context = s.context;
  l.pipeline = s.pipeline;
  l.data = s.data;
  l.expert = s.expert;
  // State is sharded over all replicas: context ranks hold the same parameters and count as replicas.
  l.shard = s.zero > 0 ? s.data * s.context : 1;
  step.interleave = s.interleave;
  // An explicit list of layers per chunk fits its own number of chunks only.
  if (s.pipeline != base.layout.pipeline || s.interleave != base.interleave) step.layers.clear();
  const bool chunked = step.schedule == PipelineSchedule::interleaved;
  if (s.interleave > 1)
    step.schedule = PipelineSchedule::interleaved;
  else if (chunked)
    step.schedule = PipelineSchedule::one_f_one_b;
  step.zero = s.zero;
  step.micro_batch = s.micro_batch;
  // The list of modules belongs to the scenario's own kind of recomputation, so another kind discards it.
  if (s.recompute != base.recompute.kind) step.recompute = s.recompute;
  return step;
}

std::vector<std::string> words_of(const Split& s, const TrainingStep& base) {
  if (s == split_of(base)) return {};
  const TrainingStep step = with_split(base, s);
  std::vector<std::string> set;
  const auto say = [&](std::string_view key, const auto& value, bool differs = true) {
    if (differs) set.push_back(fmt::format("workload.{}={}", key, value));
  };
  say("parallel.tensor", s.tensor, s.tensor != base.layout.tensor);
  say("parallel.sequence", step.sequence_parallel, step.sequence_parallel != base.sequence_parallel);
  say("parallel.context", s.context, s.context != base.layout.context);
  say("parallel.pipeline", s.pipeline, s.pipeline != base.layout.pipeline);
  say("parallel.interleave", s.interleave, s.interleave != base.interleave);
  say("parallel.schedule", name_of(step.schedule), step.schedule != base.schedule);
  say("parallel.layers", "[]", step.layers != base.layers);
  say("parallel.data", s.data, s.data != base.layout.data);
  say("parallel.expert", s.expert, s.expert != base.layout.expert);
  say("parallel.expert_tensor", step.layout.expert_tensor, step.layout.expert_tensor != base.layout.expert_tensor);
  say("parallel.zero", s.zero, s.zero != base.zero);
  // 0 means all replicas.
  say("parallel.shard", 0, step.layout.shard != base.layout.shard);
  say("batch.micro", s.micro_batch, s.micro_batch != base.micro_batch);
  say("recompute", name_of(s.recompute), s.recompute != base.recompute.kind);
  say("recompute_modules", "[]", s.recompute != base.recompute.kind && !base.recompute.modules.empty());
  return set;
}

SplitSearch search_splits(const World& world) { return Enumeration(world).run(); }

}  // namespace fabricast
