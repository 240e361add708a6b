// Finds settings that make a step fit: changes of single settings on the same GPUs, pairs of such changes where they are
// few, and changes that need more GPUs.
//
// Each remedy changes one setting, from the weakest change to the strongest, and the first that fits is proposed. The
// global batch stays the same, because it affects training itself: ranks for a larger degree come from data parallelism
// where that divides, otherwise GPUs are added and named. Only settings that the model's dimensions divide are
// proposed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fabricast/workload/memory.hpp"

namespace fabricast {

namespace {

/// Changes of one setting, from weak to strong.
using Steps = std::vector<MemoryQuestion>;
using Remedy = Steps (*)(const Transformer&, const MemoryQuestion&);

bool shards_all(const ParallelLayout& l) { return l.shard == l.data * l.context; }

/// Sets data parallelism at constant global batch. Shards over all ranks if it did before, else over the same number.
/// \returns whether the degrees divide
bool set_data(MemoryQuestion& q, int data) {
  ParallelLayout& l = q.layout;
  const std::int64_t batches = std::int64_t{q.micro_batches} * l.data;
  if (data < 1 || (q.training && batches % data != 0)) return false;
  // Expert parallelism takes its ranks from data and context parallelism.
  if (data * l.context % l.expert != 0) return false;
  const bool all = shards_all(l);
  if (q.training) q.micro_batches = static_cast<int>(batches / data);
  l.data = data;
  if (all) l.shard = l.data * l.context;
  return l.shard <= l.data * l.context;
}

/// After a degree grew by `factor`: takes the ranks from data parallelism if possible, else adds GPUs.
MemoryQuestion paid(const MemoryQuestion& q, int factor) {
  MemoryQuestion fewer = q;
  return q.layout.data % factor == 0 && set_data(fewer, q.layout.data / factor) ? fewer : q;
}

// With fewer key-value heads than ranks, ranks hold copies, which is allowed if they divide evenly.
bool divides_heads(const Transformer& m, int tensor) {
  return m.heads % tensor == 0 && (m.kv_heads % tensor == 0 || tensor % m.kv_heads == 0) && m.ffn % tensor == 0;
}

Steps more_tensor(const Transformer& m, const MemoryQuestion& q) {
  Steps steps;
  // Tensor parallelism communicates in every layer, so degrees beyond the NVLink domain are not proposed.
  for (int factor = 2; q.layout.tensor * factor <= q.nvlink_ranks; factor *= 2) {
    MemoryQuestion next = q;
    next.layout.tensor *= factor;
    if (next.layout.expert_tensor > 1) next.layout.expert_tensor = next.layout.tensor;
    if (!divides_heads(m, next.layout.tensor)) break;
    steps.push_back(paid(next, factor));
  }
  return steps;
}

Steps sequence_parallel(const Transformer&, const MemoryQuestion& q) {
  if (!q.training || q.layout.tensor == 1 || q.sequence_parallel) return {};
  MemoryQuestion next = q;
  next.sequence_parallel = true;
  return {next};
}

Steps more_pipeline(const Transformer& m, const MemoryQuestion& q) {
  Steps steps;
  const bool interleaved = q.schedule == PipelineSchedule::interleaved;
  for (int factor = 2; q.layout.pipeline * factor * (interleaved ? q.interleave : 1) <= m.layers && factor <= 16;
       factor *= 2) {
    MemoryQuestion next = q;
    next.layout.pipeline *= factor;
    next = paid(next, factor);
    // The interleaved schedule needs a multiple of the stages.
    if (q.training && interleaved && next.micro_batches % next.layout.pipeline != 0) continue;
    steps.push_back(next);
  }
  return steps;
}

Steps more_context(const Transformer&, const MemoryQuestion& q) {
  Steps steps;
  if (!q.training) return steps;
  for (int factor = 2; factor <= 8; factor *= 2) {
    MemoryQuestion next = q;
    next.layout.context *= factor;
    // Balanced context parallelism cuts a sequence into two parts for each rank.
    if (q.sequence % (std::int64_t{2} * next.layout.context) != 0) break;
    if (shards_all(q.layout)) next.layout.shard = next.layout.data * next.layout.context;
    steps.push_back(paid(next, factor));
  }
  return steps;
}

Steps more_zero(const Transformer&, const MemoryQuestion& q) {
  Steps steps;
  const int ranks = q.layout.data * q.layout.context;
  if (!q.training || ranks == 1) return steps;
  for (int zero = q.zero + 1; zero <= 3; ++zero) {
    steps.push_back(q);
    steps.back().zero = zero;
    if (q.layout.shard == 1) steps.back().layout.shard = ranks;
  }
  return steps;
}

Steps more_recompute(const Transformer&, const MemoryQuestion& q) {
  Steps steps;
  if (!q.training) return steps;
  for (const Recompute r : {Recompute::selective, Recompute::ops, Recompute::full}) {
    if (r <= q.recompute.kind) continue;
    steps.push_back(q);
    steps.back().recompute = r;
  }
  return steps;
}

Steps smaller_batch(const Transformer&, const MemoryQuestion& q) {
  Steps steps;
  int MemoryQuestion::*batch = q.training ? &MemoryQuestion::micro_batch : &MemoryQuestion::batch;
  for (MemoryQuestion next = q; next.*batch % 2 == 0;) {
    next.*batch /= 2;
    if (q.training) next.micro_batches *= 2;
    steps.push_back(next);
  }
  return steps;
}

Steps more_data(const Transformer&, const MemoryQuestion& q) {
  Steps steps;
  // More replicas only help if state is sharded over all of them.
  if (!q.training || q.zero == 0 || !shards_all(q.layout)) return steps;
  for (int factor = 2; factor <= 64; factor *= 2) {
    MemoryQuestion next = q;
    if (!set_data(next, q.layout.data * factor)) break;
    steps.push_back(next);
  }
  return steps;
}

Steps smaller_numbers(const Transformer&, const MemoryQuestion& q) {
  Steps steps;
  if (q.training) return steps;
  if (bytes_of(q.cache_precision) > 1) {
    steps.push_back(q);
    steps.back().cache_precision = NumberFormat::fp8;
  }
  if (bytes_of(q.weights.value_or(format_of(q.precision))) > 1) {
    steps.push_back(q);
    steps.back().precision = Precision::fp8;
    steps.back().weights.reset();
    steps.back().expert_weights.reset();
    steps.back().projection_weights.reset();
  }
  return steps;
}

// In the order of preference: settings that cost no GPUs come before degrees of parallelism.
constexpr Remedy remedies[] = {more_recompute, sequence_parallel, more_zero,    smaller_batch, smaller_numbers,
                               more_tensor,    more_pipeline,     more_context, more_data};

/// The differing settings, as a user writes them.
std::string difference(const MemoryQuestion& from, const MemoryQuestion& to) {
  std::vector<std::string> changes;
  const auto say = [&](std::string_view key, auto before, auto after) {
    if (before != after) changes.push_back(fmt::format("{}: {}", key, after));
  };
  say("recompute", name_of(from.recompute.kind), name_of(to.recompute.kind));
  say("parallel.sequence", from.sequence_parallel, to.sequence_parallel);
  say("parallel.zero", from.zero, to.zero);
  say(from.training ? "batch.micro" : "batch", from.training ? from.micro_batch : from.batch,
      to.training ? to.micro_batch : to.batch);
  say("precision", name_of(from.precision), name_of(to.precision));
  say("cache_precision", name_of(from.cache_precision), name_of(to.cache_precision));
  say("parallel.tensor", from.layout.tensor, to.layout.tensor);
  say("parallel.pipeline", from.layout.pipeline, to.layout.pipeline);
  say("parallel.context", from.layout.context, to.layout.context);
  say("parallel.data", from.layout.data, to.layout.data);
  std::string text = fmt::format("{}", fmt::join(changes, ", "));
  if (from.layout.ranks() != to.layout.ranks()) text += fmt::format(" on {} GPUs", to.layout.ranks());
  return text;
}

}  // namespace

std::vector<std::string> settings_that_fit(const Transformer& model, const MemoryQuestion& question, Bytes capacity,
                                           const MemoryModel& parameters) {
  // Proposals beyond this are of no use to who has a job of another size.
  constexpr int most_growth = 4;
  constexpr std::size_t enough = 3;
  MemoryQuestion start = question;
  if (start.sequence == 0) start.sequence = model.sequence;
  const auto bytes = [&](const MemoryQuestion& q) { return peak_memory(model, q, parameters).total(); };
  const auto fits = [&](const MemoryQuestion& q) { return bytes(q) <= static_cast<double>(capacity.value); };
  std::vector<MemoryQuestion> found, larger;
  std::vector<Remedy> insufficient;  ///< alone, on the same GPUs
  for (const Remedy remedy : remedies) {
    const Steps steps = remedy(model, start);
    const auto first = std::find_if(steps.begin(), steps.end(), fits);
    const bool on_same = first != steps.end() && first->layout.ranks() <= start.layout.ranks();
    if (first != steps.end()) (on_same ? found : larger).push_back(*first);
    if (!on_same) insufficient.push_back(remedy);
  }
  const auto add_pairs = [&](auto allowed) {
    for (std::size_t i = 0; i < insufficient.size(); ++i)
      for (std::size_t k = i + 1; k < insufficient.size(); ++k)
        for (const MemoryQuestion& one : insufficient[i](model, start)) {
          if (found.size() >= enough) return;
          const Steps steps = insufficient[k](model, one);
          const auto first = std::find_if(steps.begin(), steps.end(),
                                          [&](const MemoryQuestion& two) { return allowed(two) && fits(two); });
          if (first == steps.end()) continue;
          found.push_back(*first);
          break;
        }
  };
  add_pairs([&](const MemoryQuestion& q) { return q.layout.ranks() == start.layout.ranks(); });
  if (found.empty() && larger.empty()) add_pairs([](const MemoryQuestion&) { return true; });
  if (!found.empty())
    std::erase_if(larger,
                  [&](const MemoryQuestion& q) { return q.layout.ranks() > most_growth * start.layout.ranks(); });
  found.insert(found.end(), larger.begin(), larger.end());
  std::vector<std::string> texts;
  for (const MemoryQuestion& q : found)
    texts.push_back(fmt::format("{} ({:.1f} GiB)", difference(start, q), bytes(q) / gib));
  return texts;
}

std::optional<Diagnostic> memory_fault(const Transformer& model, const MemoryQuestion& question, Bytes capacity,
                                       double tolerated, const MemoryModel& parameters) {
  const MemoryUse use = peak_memory(model, question, parameters);
  if (use.total() <= tolerated * static_cast<double>(capacity.value)) return std::nullopt;
  Diagnostic d;
  d.path = "workload.model";
  d.message = fmt::format("does not fit in memory: a GPU has {:.1f} GiB, but the model needs {}",
                          static_cast<double>(capacity.value) / gib, to_text(use));
  const std::vector<std::string> fixes = settings_that_fit(model, question, capacity, parameters);
  d.hint = fixes.empty() ? "no nearby setting makes it fit; use more GPUs or a smaller model"
                         : fmt::format("it fits with {}", fmt::join(fixes, "; or "));
  return d;
}

}  // namespace fabricast
