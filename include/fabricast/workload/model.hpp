// Transformers by their dimensions: what a training or inference step computes, stores and sends.
//
// A layer consists of attention and a feed-forward block, which is dense or a mixture of experts (MoE). Attention has
// `heads` heads of width `head_dim`. Groups of them share the keys and values of `kv_heads` heads. In latent attention
// (MLA, as in DeepSeek-V2) keys and values are compressed to a latent vector. Counts cover matrices and the vectors
// beside them (norms, biases).
//
// Hybrid models use Mamba 2 in addition to attention or in its place [Dao2024]. They have given numbers of mixers of
// either kind, which are assumed to be spread evenly over the layers. A layer then has the average number of each, and
// its feed-forward block. A mixer without a feed-forward block counts with that of its neighbour (Nemotron 3 Nano: 23
// MoE layers with 23 Mamba mixers and 6 attention mixers).
//
// Widths are in elements, counts without unit. Pure functions; safe to call concurrently.
// Not modelled: other recurrent layers, encoders of images or sound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Dimensions of a model. A plain value.
struct Transformer {
  std::string name;
  int layers = 0;
  std::int64_t hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t ffn = 0;                  ///< width of a dense feed-forward block
  std::int64_t vocab = 0, sequence = 0;  ///< tokens
  bool gated = true;                     ///< the feed-forward block has a third matrix, a gate (SwiGLU)
  bool tied = false;                     ///< input and output embedding share one matrix
  bool biases = false;                   ///< linear layers have a bias
  bool learned_positions = false;        ///< positions have an embedding of `sequence` x `hidden`
  bool qk_norm = false;                  ///< queries and keys are normalized, head by head
  double window = 0;                     ///< tokens that attention looks back; 0: all
  int full_every = 0;                    ///< with a window: every n-th layer attends to all tokens; 0: none
  // MoE. `experts` 0: all layers are dense.
  int experts = 0, active_experts = 0, shared_experts = 0;
  int expert_groups = 0, active_groups = 0;  ///< a token goes to experts of `active_groups` groups; 0: of any group
  std::int64_t expert_ffn = 0;
  int dense_layers = 0;  ///< the first layers, which have no experts
  // Latent attention. `kv_rank` 0: standard attention.
  std::int64_t q_rank = 0, kv_rank = 0;      ///< widths of the latent vectors; q_rank 0: queries are not compressed
  std::int64_t rope_dim = 0, value_dim = 0;  ///< per head: the rotated part of query and key; the value

  // Mamba 2. `mamba_layers` 0: every layer has attention.
  int mamba_layers = 0, attention_layers = 0;  ///< mixers of either kind in the model
  std::int64_t mamba_heads = 0, mamba_head_dim = 0;
  std::int64_t mamba_groups = 1;   ///< groups of heads that share the input and output projections of their states
  std::int64_t state_dim = 0;      ///< state elements of a head, for each of its `mamba_head_dim` channels
  std::int64_t mamba_chunk = 128;  ///< tokens that are processed at once, as GEMMs

  /// Mixers of each kind per layer, on average.
  double attention_share() const { return mamba_layers > 0 ? static_cast<double>(attention_layers) / layers : 1; }
  double mamba_share() const { return static_cast<double>(mamba_layers) / layers; }
  /// Width of all Mamba heads; of the input projection (gate, values, projections into and out of states, time steps);
  /// and of the convolution.
  std::int64_t mamba_width() const { return mamba_heads * mamba_head_dim; }
  std::int64_t mamba_in() const { return 2 * mamba_width() + 2 * mamba_groups * state_dim + mamba_heads; }
  std::int64_t mamba_convolved() const { return mamba_width() + 2 * mamba_groups * state_dim; }

  /// Whether a layer has experts, and the number of layers that have. \param layer  from 0, in model order
  bool has_experts(int layer) const { return experts > 0 && layer >= dense_layers; }
  int expert_layers() const { return experts > 0 ? layers - dense_layers : 0; }
  /// Layers whose attention covers all tokens.
  int full_layers() const { return window > 0 ? (full_every > 0 ? layers / full_every : 0) : layers; }
  /// Width of all queries; of the cached keys and values of a token; and of the input of the output projection.
  std::int64_t query_width() const { return heads * (head_dim + (kv_rank > 0 ? rope_dim : 0)); }
  std::int64_t cache_width() const { return kv_rank > 0 ? kv_rank + rope_dim : 2 * kv_heads * head_dim; }
  /// Width of what `qk_norm` normalizes: all queries and keys.
  std::int64_t normed_width() const { return qk_norm ? query_width() + kv_heads * head_dim : 0; }
  std::int64_t value_width() const { return heads * (kv_rank > 0 ? value_dim : head_dim); }
};

/// Numbers of parameters, by the part of the model that holds them.
struct ParameterCount {
  std::int64_t attention = 0;  ///< of one layer's mixer with its norm; for hybrid models the mean
  std::int64_t ffn = 0;        ///< of one dense feed-forward block with its norm
  std::int64_t experts = 0;    ///< of all routed experts of one MoE layer
  std::int64_t shared = 0;     ///< of one MoE layer: shared experts, router and norm
  std::int64_t embedding = 0;  ///< input embedding, with positions
  std::int64_t head = 0;       ///< output matrix with the last norm; only the norm if tied
  std::int64_t total = 0;      ///< of the whole model
  std::int64_t active = 0;     ///< used by a token, that is with `active_experts` routed experts per MoE layer
};
/// Published numbers of the presets are met within the tolerance that each states (tested).
ParameterCount count_parameters(const Transformer& model);

/// Parameters of a module of multi-token prediction besides its transformer layer and the embeddings that it shares
/// with the model: a GEMM that joins two vectors to one, and norms of both and of the result [DeepSeek2024b].
std::int64_t mtp_join_parameters(const Transformer& model);
/// All parameters of such a module except those that it shares with the model.
std::int64_t mtp_parameters(const Transformer& model);

/// Floating-point operations of the model for one sequence. A multiply-add counts as two.
struct ModelFlops {
  double linear = 0;      ///< forward: all matrices except the vocabulary's, and the states of Mamba
  double attention = 0;   ///< forward: scores and the weighted sum of values, over the full square (window: the band)
  double vocabulary = 0;  ///< forward
  /// A forward pass. \param causal  attention counts half, since a causal mask hides half of the square
  double forward(bool causal) const { return linear + vocabulary + attention * (causal ? 0.5 : 1); }
  /// A training step: the backward pass is twice the forward pass. Recomputation is not counted.
  double training(bool causal) const { return 3 * forward(causal); }
};
/// \param sequence  tokens; attention grows with its square
ModelFlops model_flops(const Transformer& model, std::int64_t sequence);
/// The same with `mtp_layers` modules of multi-token prediction. \pre no Mamba mixers if there are such modules
ModelFlops model_flops(const Transformer& model, std::int64_t sequence, int mtp_layers);

}  // namespace fabricast
