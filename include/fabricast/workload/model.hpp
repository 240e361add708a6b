// Transformers by their dimensions: what a training or inference step computes, holds and sends.
//
// A layer is attention and a feed-forward part, which is dense or made of experts (MoE). Attention has `heads` heads of
// `head_dim`, of which groups share the keys and values of `kv_heads` heads; or its keys and values are compressed to a
// latent vector (MLA, as DeepSeek has it). Counts are of matrices and of the vectors beside them (norms, biases).
//
// Hybrid models have Mamba 2 beside or in place of attention [Dao2024]: so many mixers of either kind among the layers,
// which are taken as spread evenly. A layer then has the mean of them, and its feed-forward part; a mixer without one
// counts with its neighbour's (Nemotron 3 Nano: 23 layers of experts with 23 mixers of Mamba and 6 of attention).
//
// Not modelled: other recurrent layers, encoders of images or sound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

struct Transformer {
  std::string name;
  int layers = 0;
  std::int64_t hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t ffn = 0;  ///< width of a dense feed-forward part
  std::int64_t vocab = 0, sequence = 0;
  bool gated = true;               ///< the feed-forward part has a third matrix that gates the second
  bool tied = false;               ///< input and output embedding are one matrix
  bool biases = false;             ///< linear layers have a bias
  bool learned_positions = false;  ///< a matrix of `sequence` x `hidden`
  double window = 0;               ///< tokens that attention looks back; 0: all
  int full_every = 0;              ///< with a window: every so many layers one looks back at all; 0: none does
  // Experts. `experts` 0: all layers are dense.
  int experts = 0, active_experts = 0, shared_experts = 0;
  int expert_groups = 0, active_groups = 0;  ///< a token goes to experts of so many of the groups; 0: of any
  std::int64_t expert_ffn = 0;
  int dense_layers = 0;  ///< of all, the first ones, which have no experts
  // Latent attention. `kv_rank` 0: plain.
  std::int64_t q_rank = 0, kv_rank = 0;      ///< q_rank 0: queries are not compressed
  std::int64_t rope_dim = 0, value_dim = 0;  ///< of a head: the part of query and key that is rotated; the value

  // Mamba 2. `mamba_layers` 0: every layer has attention.
  int mamba_layers = 0, attention_layers = 0;  ///< mixers of the model, of either kind
  std::int64_t mamba_heads = 0, mamba_head_dim = 0;
  std::int64_t mamba_groups = 1;   ///< of heads that share what goes in and out of their states
  std::int64_t state_dim = 0;      ///< of a head's state, for each of its `mamba_head_dim`
  std::int64_t mamba_chunk = 128;  ///< tokens that are taken at once, as products

  /// Mixers of a layer in the mean.
  double attention_share() const { return mamba_layers > 0 ? static_cast<double>(attention_layers) / layers : 1; }
  double mamba_share() const { return static_cast<double>(mamba_layers) / layers; }
  /// Width of all Mamba heads; of what goes in: gate, values, in and out of states, steps; of what the convolution takes.
  std::int64_t mamba_width() const { return mamba_heads * mamba_head_dim; }
  std::int64_t mamba_in() const { return 2 * mamba_width() + 2 * mamba_groups * state_dim + mamba_heads; }
  std::int64_t mamba_convolved() const { return mamba_width() + 2 * mamba_groups * state_dim; }

  bool has_experts(int layer) const { return experts > 0 && layer >= dense_layers; }
  int expert_layers() const { return experts > 0 ? layers - dense_layers : 0; }
  /// Layers that look back at all tokens.
  int full_layers() const { return window > 0 ? (full_every > 0 ? layers / full_every : 0) : layers; }
  /// Width of all queries; of keys and values of a token, as they are cached; of what attention gives to its last matrix.
  std::int64_t query_width() const { return heads * (head_dim + (kv_rank > 0 ? rope_dim : 0)); }
  std::int64_t cache_width() const { return kv_rank > 0 ? kv_rank + rope_dim : 2 * kv_heads * head_dim; }
  std::int64_t value_width() const { return heads * (kv_rank > 0 ? value_dim : head_dim); }
};

/// Parameters by what holds them.
struct ParameterCount {
  std::int64_t attention = 0;  ///< of one layer's mixer, with its norm; of hybrid models the mean
  std::int64_t ffn = 0;        ///< of one dense layer, with its norm
  std::int64_t experts = 0;    ///< of one expert layer, all experts, without what is shared
  std::int64_t shared = 0;     ///< of one expert layer: shared experts, router and norm
  std::int64_t embedding = 0;  ///< input, with positions
  std::int64_t head = 0;       ///< output, with the last norm; 0 matrix if tied
  std::int64_t total = 0;      ///< of the whole model
  std::int64_t active = 0;     ///< that a token meets: with `active_experts` experts a layer
};
ParameterCount count_parameters(const Transformer& model);

/// What a module of multi-token prediction has beside a layer like the model's last and the embeddings that it shares with
/// the model: a GEMM from two vectors to one, norms of both and of the result [DeepSeek2024b].
std::int64_t mtp_join_parameters(const Transformer& model);
/// All that such a module has, what it shares with the model excepted.
std::int64_t mtp_parameters(const Transformer& model);

/// Floating-point operations of the model for one sequence, multiply and add counted as two.
struct ModelFlops {
  double linear = 0;      ///< forward: all matrices but the vocabulary's, and states of Mamba
  double attention = 0;   ///< forward: scores and what they weigh, the full square (of a window: the band)
  double vocabulary = 0;  ///< forward
  double forward(bool causal) const { return linear + vocabulary + attention * (causal ? 0.5 : 1); }
  /// A training step: backward is twice forward. What is computed again is not counted.
  double training(bool causal) const { return 3 * forward(causal); }
};
ModelFlops model_flops(const Transformer& model, std::int64_t sequence);
/// Of the same model with so many modules of multi-token prediction.  \pre no Mamba
ModelFlops model_flops(const Transformer& model, std::int64_t sequence, int mtp_layers);

}  // namespace fabricast
