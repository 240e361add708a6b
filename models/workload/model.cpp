// Counts parameters and floating-point operations [Narayanan2021] [DeepSeek2024a].
//
// Counts of matrices and of other parameters are separate, because only matrices take operations per token: two FLOPs
// for each parameter. docs/models/transformer.md has the formulas. Presets are tested against published counts.
#include "fabricast/workload/model.hpp"
#include "fabricast/core/real.hpp"

#include <algorithm>

namespace fabricast {

namespace {

/// Numbers of parameters: `matrices` that multiply a token, `other` for vectors.
struct Elements {
  std::int64_t matrices = 0, other = 0;
  std::int64_t sum() const { return matrices + other; }
};

// Layer norms have a bias where other layers have, RMS norms have a scale only.
std::int64_t norm(const Transformer& m) { return m.biases ? 2 * m.hidden : m.hidden; }

Elements attention(const Transformer& m) {
  Elements e;
  const std::int64_t queries = m.query_width(), values = m.value_width();
  if (m.kv_rank > 0) {
    // Latent attention: down to the latent vectors, up to the heads, and back from the values [DeepSeek2024a].
    const std::int64_t keys_and_values = m.heads * (m.head_dim + m.value_dim);
    e.matrices = m.q_rank > 0 ? m.hidden * m.q_rank + m.q_rank * queries : m.hidden * queries;
    e.matrices += m.hidden * (m.kv_rank + m.rope_dim) + m.kv_rank * keys_and_values;
    e.other = m.q_rank + m.kv_rank;  // norms of the compressed vectors
  } else {
    e.matrices = m.hidden * (queries + m.cache_width());
    if (m.biases) e.other = queries + m.cache_width() + m.hidden;
    if (m.qk_norm) e.other += 2 * m.head_dim;  // all heads share a scale
  }
  e.matrices += values * m.hidden;
  e.other += norm(m);
  return e;
}

/// Projections into and out of the heads; a convolution over 4 tokens, decays and time steps of heads, and two norms.
Elements mamba(const Transformer& m) {
  constexpr std::int64_t taps = 4;
  return {m.hidden * (m.mamba_in() + m.mamba_width()),
          m.mamba_convolved() * (taps + 1) + 3 * m.mamba_heads + m.mamba_width() + norm(m)};
}

/// The mixers of all layers.
Elements mixers(const Transformer& m) {
  const Elements a = attention(m);
  if (m.mamba_layers == 0) return {m.layers * a.matrices, m.layers * a.other};
  const Elements s = mamba(m);
  return {m.attention_layers * a.matrices + m.mamba_layers * s.matrices,
          m.attention_layers * a.other + m.mamba_layers * s.other};
}

/// A feed-forward block without its norm.
Elements feed_forward(const Transformer& m, std::int64_t width) {
  Elements e;
  e.matrices = (m.gated ? 3 : 2) * m.hidden * width;
  if (m.biases) e.other = (m.gated ? 2 : 1) * width + m.hidden;
  return e;
}

Elements router(const Transformer& m) { return {m.hidden * m.experts, m.biases ? m.experts : 0}; }

}  // namespace

ParameterCount count_parameters(const Transformer& m) {
  ParameterCount c;
  const std::int64_t all_mixers = mixers(m).sum();
  // Mixers of a hybrid model are averaged over its layers, since stages hold layers.
  c.attention = m.layers > 0 ? all_mixers / m.layers : 0;
  const std::int64_t expert = m.experts > 0 ? feed_forward(m, m.expert_ffn).sum() : 0;
  const int sparse = m.expert_layers(), dense = m.layers - sparse;
  if (dense > 0) c.ffn = feed_forward(m, m.ffn).sum() + norm(m);
  if (sparse > 0) {
    c.experts = m.experts * expert;
    c.shared = m.shared_experts * expert + router(m).sum() + norm(m);
  }
  c.embedding = m.vocab * m.hidden + (m.learned_positions ? m.sequence * m.hidden : 0);
  c.head = (m.tied ? 0 : m.vocab * m.hidden) + norm(m);
  const std::int64_t without_experts = all_mixers + dense * c.ffn + sparse * c.shared + c.embedding + c.head;
  c.total = without_experts + sparse * c.experts;
  // Parameters that one token uses, both embeddings included; some authors leave out the input embedding.
  c.active = without_experts + std::int64_t{sparse} * m.active_experts * expert;
  return c;
}

std::int64_t mtp_join_parameters(const Transformer& m) { return 2 * m.hidden * m.hidden + 3 * norm(m); }

std::int64_t mtp_parameters(const Transformer& m) {
  const ParameterCount c = count_parameters(m);
  return c.attention + (m.has_experts(m.layers - 1) ? c.experts + c.shared : c.ffn) + mtp_join_parameters(m);
}

ModelFlops model_flops(const Transformer& m, std::int64_t sequence) {
  const double s = real(sequence);
  const int sparse = m.expert_layers(), dense = m.layers - sparse;
  double matrices = real(mixers(m).matrices) + dense * real(feed_forward(m, m.ffn).matrices);
  if (sparse > 0)
    matrices += sparse * (real(router(m).matrices) +
                          (m.active_experts + m.shared_experts) * real(feed_forward(m, m.expert_ffn).matrices));
  // Query-key pairs. A causal mask later halves both the square and the band of a window, so the band counts both sides
  // of the diagonal.
  const double back = m.window > 0 ? std::min(s, m.window) : s;
  const double pairs = m.mamba_layers > 0
                           ? m.attention_layers * s * s
                           : m.full_layers() * s * s + (m.layers - m.full_layers()) * (2 * s * back - back * back);
  // Each state element decays, takes an input and contributes to the output: five operations.
  const double states = 5.0 * m.mamba_layers * s * real(m.mamba_width() * m.state_dim);
  ModelFlops f;
  f.linear = 2 * s * matrices + states;
  f.attention = 2 * pairs * real(m.query_width() + m.value_width());
  f.vocabulary = 2 * s * real(m.vocab * m.hidden);
  return f;
}

ModelFlops model_flops(const Transformer& m, std::int64_t sequence, int mtp_layers) {
  ModelFlops f = model_flops(m, sequence);
  if (mtp_layers == 0) return f;
  // A module contains one more layer of the last kind.
  Transformer longer = m;
  ++longer.layers;
  const ModelFlops with = model_flops(longer, sequence);
  f.linear += mtp_layers * (with.linear - f.linear + 2 * real(sequence) * 2 * real(m.hidden) * real(m.hidden));
  f.attention += mtp_layers * (with.attention - f.attention);
  f.vocabulary *= 1 + mtp_layers;
  return f;
}

}  // namespace fabricast
