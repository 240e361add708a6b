// Times of the kernels of a pass (docs/models/inference.md), and how steps are divided into passes.
//
// A pass has one set of kernels on every rank: GEMMs with as many rows as tokens, attention of decoded sequences and of
// prompts, and other kernels, counted and with their traffic, from the serving stack. With few tokens GEMMs are bound
// by reading weights once, which kernels.cpp contains. Steps become passes here, too: how many sequences, prompts and
// chunks each holds.
#include <algorithm>
#include <cmath>

#include "fabricast/core/real.hpp"
#include "fabricast/workload/inference.hpp"
#include "linear_layers.hpp"

namespace fabricast {

namespace {

/// Times the blocks of one pass on one rank.
class PassTimer {
 public:
  PassTimer(const InferenceStep& step, const InferencePass& pass)
      : step_(step),
        m_(step.model),
        stack_(step.stack),
        pass_(pass),
        tokens_(real(pass.tokens())),
        tensor_(step.layout.tensor),
        gap_(step.kernels.kernel_gap()),
        kernels_(step.kernels) {}

  /// Time of attention, of decoded sequences and prompts.
  Seconds attended() const { return core() / stack_.attention_rate.value; }

  LayerTime attention() const {
    LayerTime t;
    std::vector<Linear> gemms = attention_gemms(m_, tensor_);
    for (std::size_t i = 0; i < gemms.size(); ++i)
      multiply(t, tokens_, gemms[i], i == output_projection(m_) ? step_.projection : step_.linear);
    t.attention = attended();
    const double widths = real(m_.query_width() + m_.kv_heads * m_.head_dim) / tensor_;
    const int kernels = stack_.attention_kernels + (m_.kv_rank > 0 ? stack_.latent_kernels : 0);
    elementwise(t, kernels, outside() + tokens_ * stack_.attention * widths);
    if (step_.projection != step_.linear) {
      cast(t, {gemms[output_projection(m_)]}, step_.projection);
      gemms.erase(gemms.begin() + static_cast<std::ptrdiff_t>(output_projection(m_)));
    }
    cast(t, gemms, step_.linear);
    return t;
  }

  LayerTime dense() const {
    LayerTime t;
    const double width = real(m_.ffn) / tensor_;
    const std::vector<Linear> gemms = ffn_gemms(m_, width);
    for (const Linear& l : gemms) multiply(t, tokens_, l, step_.linear);
    elementwise(t, stack_.ffn_kernels, outside() + tokens_ * activation() * width);
    cast(t, gemms, step_.linear);
    return t;
  }

  LayerTime experts() const {
    LayerTime t;
    const ParallelLayout& l = step_.layout;
    const double placed = real(m_.experts + step_.redundant_experts), local = placed / l.expert,
                 width = real(m_.expert_ffn) / l.expert_tensor;
    // Replicas that share experts each contribute a batch. A rank's experts receive their share of all of them. Ranks
    // that split the same experts receive the same tokens.
    const double sharing = l.sharing_replicas();
    const double copies = tokens_ * m_.active_experts * l.expert_tensor / tensor_ * step_.imbalance;
    // Experts without tokens are not read. Each token uses `active` experts, and one of the copies of each.
    // t tokens that choose A of E experts independently leave (1 - A/E)^t of them without a token.
    const double missed = std::pow(1 - m_.active_experts / placed, tokens_ * sharing);
    const double busy = std::max(1.0, std::min(local * (1 - missed), copies));
    const std::vector<Linear> gemms = ffn_gemms(m_, width);
    // One grouped GEMM over the experts that have tokens, with equal numbers of rows.
    for (const Linear& p : gemms) multiply(t, copies / busy, p, step_.experts, busy);
    multiply(t, tokens_, {real(m_.hidden), real(m_.experts)}, step_.linear);
    if (m_.shared_experts > 0) shared(t);
    // Copies are written in the order of experts in the precision of GEMMs, and their results of 16 bits are read and
    // summed. A token itself is read, and its sum written, once.
    const double permuted = bytes_of(step_.experts.compute) + bytes_16;
    elementwise(t, stack_.ffn_kernels + stack_.expert_kernels,
                outside() + copies * (permuted * real(m_.hidden) + activation() * width));
    cast(t, gemms, step_.experts);
    t.elementwise += stack_.expert_fixed.us();
    return t;
  }

  LayerTime embedding() const {
    LayerTime t;
    elementwise(t, 1, 4 * tokens_ * real(m_.hidden));
    return t;
  }

  /// Logits are computed only for the last token of each prompt and for decoded tokens.
  LayerTime vocabulary() const {
    LayerTime t;
    const double rows = real(pass_.sequences * pass_.width + pass_.prompts);
    t.gemms += gemm(step_.kernels, whole(rows), whole(real(m_.vocab) / tensor_), m_.hidden, Precision::bf16) /
                   stack_.gemm.value +
               gap_;
    ++t.kernels;
    elementwise(t, stack_.sampling_kernels, rows * real(m_.vocab) * stack_.logit);
    return t;
  }

 private:
  static constexpr double bytes_16 = 2;

  /// Adds shared experts: another feed-forward block over all tokens, with casts, activation and sum of its own.
  void shared(LayerTime& t) const {
    const double width = real(m_.expert_ffn * m_.shared_experts) / tensor_;
    const std::vector<Linear> gemms = ffn_gemms(m_, width);
    for (const Linear& p : gemms) multiply(t, tokens_, p, step_.experts);
    elementwise(t, stack_.ffn_kernels, tokens_ * activation() * width);
    cast(t, gemms, step_.experts);
  }

  // Rounded up, but not because of a rounding error of the division.
  static std::int64_t whole(double x) { return std::max<std::int64_t>(1, std::llround(std::ceil(x - 1e-9))); }

  void multiply(LayerTime& t, double rows, const Linear& l, const GemmPrecision& p, double count = 1) const {
    t.gemms +=
        gemm(kernels_, whole(rows), whole(l.out), whole(l.in), p.compute, whole(count), p.weights) / stack_.gemm.value +
        gap_;
    ++t.kernels;
  }
  void elementwise(LayerTime& t, int kernels, double bytes) const {
    // A kernel takes at least its start and the gap to the next, however few bytes it moves.
    const Seconds minimum = gap_ + stack_.small_kernel.us();
    t.elementwise += stream(step_.kernels, Bytes{std::llround(bytes)}) + kernels * minimum;
    t.kernels += kernels;
  }
  void cast(LayerTime& t, const std::vector<Linear>& gemms, const GemmPrecision& p) const {
    // GEMMs in 8 or 4 bits read inputs that a separate kernel has cast. Weights are cast when they are loaded.
    if (bytes_of(p.compute) > 1) return;
    double in = 0;
    for (const Linear& l : gemms) in += l.in;
    elementwise(t, stack_.cast_kernels, tokens_ * stack_.cast * in);
  }
  double outside() const { return tokens_ * stack_.outside * real(m_.hidden) / 2; }
  double activation() const { return m_.gated ? stack_.gated_ffn : stack_.ffn; }

  /// Time of attention kernels, averaged over layers with full attention and layers with a window.
  Seconds core() const {
    const double full = static_cast<double>(m_.full_layers()) / m_.layers;
    const auto window = static_cast<std::int64_t>(m_.window);
    Seconds time = full > 0 ? full * core(0) : Seconds{};
    if (full < 1) time += (1 - full) * core(window);
    return time;
  }
  Seconds core(std::int64_t window) const {
    const std::int64_t context = window > 0 ? std::min(window, pass_.context) : pass_.context;
    Seconds time;
    if (pass_.sequences > 0)
      time += decode_attention(step_.kernels, decode_heads(m_, step_.layout.tensor), pass_.sequences, context,
                               step_.cache, pass_.width);
    if (pass_.prompts > 0) {
      AttentionBlock block;
      block.heads = training_heads(m_, step_.layout.tensor);
      block.sequences = pass_.prompts;
      block.queries = pass_.queries;
      block.keys = pass_.keys;
      block.window = window;
      time += flash_forward(step_.kernels, block);
    }
    return time;
  }

  const InferenceStep& step_;
  const Transformer& m_;
  const ServingStack& stack_;
  const InferencePass& pass_;
  double tokens_, tensor_;
  Seconds gap_;
  const Kernels& kernels_;
};

}  // namespace

PassTime time_pass(const InferenceStep& step, const InferencePass& pass) {
  const PassTimer timer(step, pass);
  PassTime t;
  t.attention = timer.attention();
  if (step.model.expert_layers() < step.model.layers) t.dense = timer.dense();
  if (step.model.experts > 0) t.sparse = timer.experts();
  t.embedding = timer.embedding();
  t.vocabulary = timer.vocabulary();
  return t;
}

Seconds time_attention(const InferenceStep& step, const InferencePass& pass) {
  return PassTimer(step, pass).attended();
}

double cached_bytes(const InferenceStep& step) {
  return real(decode_heads(step.model, step.layout.tensor).cached) * stored_bytes_of(step.cache);
}

Bytes cache_of_rank(const InferenceStep& step, std::int64_t tokens) {
  const int stages = step.layout.pipeline;
  return Bytes{std::llround(real((step.model.layers + stages - 1) / stages) * cached_bytes(step) * real(tokens))};
}

MemoryQuestion memory_question(const InferenceStep& step, int batch, int nvlink_ranks) {
  MemoryQuestion q;
  q.training = false;
  q.layout = step.layout;
  q.precision = step.linear.compute;
  q.weights = step.linear.weights;
  q.expert_weights = step.experts.weights;
  q.projection_weights = step.projection.weights;
  q.cache_precision = step.cache;
  q.sequence = step.input + step.output;
  q.batch = batch;
  // The larger of a decode pass and a pass of prompts determines the workspace.
  q.tokens = std::max<std::int64_t>(batch * (std::int64_t{1} + step.speculation.tokens),
                                    std::min(step.chunk, step.input * batch));
  q.redundant_experts = step.redundant_experts;
  q.offload_weights = step.offload_weights;
  q.nvlink_ranks = nvlink_ranks;
  return q;
}

InferencePass guessing_pass(const InferencePass& pass) {
  InferencePass guess;
  guess.sequences = pass.sequences;
  guess.context = pass.context;
  return guess;
}

double Speculation::tokens_per_step() const {
  double mean = 1, holds = 1;
  // A guess counts if all guesses before it hold: 1 + a + ... + a^k [Leviathan2023].
  for (int i = 0; i < tokens; ++i) mean += holds *= acceptance;
  return mean;
}

std::vector<InferencePass> halves_of(const InferencePass& pass) {
  if (pass.sequences + pass.prompts < 2) return {pass};
  InferencePass first = pass, second = pass;
  first.sequences = pass.sequences / 2;
  second.sequences = pass.sequences - first.sequences;
  first.prompts = pass.prompts - pass.prompts / 2;
  second.prompts = pass.prompts / 2;
  return {first, second};
}

std::vector<InferencePass> decode_passes(const InferenceStep& step) {
  const std::int64_t passes = std::min<std::int64_t>(step.layout.pipeline, step.batch);
  std::vector<InferencePass> all;
  for (std::int64_t j = 0; j < passes; ++j) {
    InferencePass pass;
    pass.sequences = step.batch / passes + (j < step.batch % passes ? 1 : 0);
    pass.context = step.mean_context();
    pass.width = 1 + step.speculation.tokens;
    all.push_back(pass);
  }
  return all;
}

std::vector<InferencePass> prefill_passes(const InferenceStep& step, std::int64_t prompts, std::int64_t cached) {
  const std::int64_t rest = std::max<std::int64_t>(1, step.input - cached);
  std::vector<InferencePass> all;
  InferencePass pass;
  // Whole prompts, as many as fit in a pass. Otherwise each prompt in chunks, whose last tokens see all earlier ones.
  if (const std::int64_t together = step.chunk / rest; together > 0) {
    pass.queries = rest;
    pass.keys = step.input;
    for (std::int64_t left = prompts; left > 0; left -= pass.prompts) {
      pass.prompts = std::min(left, together);
      all.push_back(pass);
    }
    return all;
  }
  pass.prompts = 1;
  for (std::int64_t k = 0; k < prompts; ++k)
    for (std::int64_t done = step.input - rest; done < step.input; done += pass.queries) {
      pass.queries = std::min(step.chunk, step.input - done);
      pass.keys = done + pass.queries;
      all.push_back(pass);
    }
  return all;
}

}  // namespace fabricast
