// Kernel times of a transformer layer in training, in the blocks between which the layer communicates.
//
// Times are those of one GPU for one micro-batch, without communication. Pure functions; safe to call concurrently.
#pragma once

#include "fabricast/workload/training.hpp"

namespace fabricast {

/// Attention or a feed-forward block, with the norms and residuals around it.
struct HalfLayer {
  double parts = 1;     ///< of such blocks per layer on average; each has its own collectives
  Seconds before;       ///< forward, ahead of the token dispatch: norm, router, shared experts
  Seconds forward;      ///< forward, without `before`
  Seconds core;         ///< share of `forward`: attention without its linear layers
  Seconds elementwise;  ///< share of `before` and `forward`: element-wise kernels
  Seconds gemms;        ///< share of `before` and `forward`: linear layers
  Seconds norm;         ///< share of `elementwise`: the norm
  Seconds activation;   ///< share of `elementwise`: activation functions
  Seconds first;        ///< share of `gemms`: the first linear layer, or the first two of a gated feed-forward block
  Seconds last;         ///< share of `gemms`: the linear layer that writes the result
  Seconds latent;       ///< share of `gemms`: from latent vectors to queries, keys and values
  Seconds shared;       ///< share of `before`: shared experts
  Bytes gathered;       ///< queries and keys that tensor parallel ranks gather, forward (Stack::gathers_normed_heads)
  Seconds before_backward;
  Seconds data_gradient, weight_gradient;
  Seconds launch_before;      ///< host time to launch `before`, in each direction
  Seconds launch;             ///< host time to launch the rest, in each direction
  bool synchronizes = false;  ///< the host waits for `before`, because the token counts decide what it launches next
};
/// The two blocks of a layer.
struct LayerTimes {
  HalfLayer attention, ffn;
};
/// Weighted mean of two kinds of mixer of a hybrid model. \param of_one, of_other  number of each per layer
HalfLayer mean_of(const HalfLayer& one, double of_one, const HalfLayer& other, double of_other);

/// Whether tensor parallelism gathers the inputs of GEMMs, or their gradients, after they are cast to 8 bits.
bool gathers_cast(const TrainingStep& step);

/// Times of a layer. \param experts  whether its feed-forward block is MoE
LayerTimes time_layer(const TrainingStep& step, bool experts);

/// Whether the recomputation of a layer ends before its last GEMM, whose result no gradient needs
/// (Stack::ends_recompute_early). With experts it repeats all, since the combine reads what they return.
bool ends_early(const TrainingStep& step, bool experts);

/// The time of the part of a layer that the backward pass recomputes under `step.recompute`.
Seconds recompute_time(const TrainingStep& step, const LayerTimes& layer, bool experts);

/// Tokens that a rank dispatches to experts of a layer, counted once per expert.
double dispatched_tokens(const TrainingStep& step);

/// Tokens of the most loaded rank, each counted once.
double busiest_tokens(const TrainingStep& step);
/// Token copies that the most loaded rank sends in an alltoall. With TrainingStep::token_copies below the number of
/// active experts, experts of one node share a copy.
double sent_tokens(const TrainingStep& step);

/// Embedding, output matrix and loss.
struct VocabularyTimes {
  Seconds forward, backward;  ///< output matrix and loss
  Seconds logits;             ///< of both: element-wise kernels
  Seconds embedding, embedding_backward;
};
/// Of a micro-batch on one rank, with the vocabulary split over the tensor parallel ranks.
VocabularyTimes time_vocabulary(const TrainingStep& step);

/// Times of kernels that alternate on a GPU, each as long as under sustained load.
struct KernelMix {
  Seconds gemms, attention, others;
};
/// The kernels of a micro-batch in all layers of the model, forward and backward. Collectives, bubbles and
/// recomputation, during which a GPU draws less, are not counted.
/// \pre step.kernels.boost is 1
KernelMix kernel_mix(const TrainingStep& step);
/// Rate of GEMMs in a mix, relative to a long run of GEMMs, whose power lowers the clock: 1 to `burst`.
double boost_of(const Kernels& kernels, const KernelMix& mix);

/// What a module of multi-token prediction computes in addition to its layer and the vocabulary: the embedding of the
/// later token, a norm of each of the two vectors, a GEMM that joins them to one, and a norm of the result.
struct MtpTimes {
  Seconds forward, backward;
};
/// Of a micro-batch on one rank.
MtpTimes time_mtp(const TrainingStep& step);

}  // namespace fabricast
