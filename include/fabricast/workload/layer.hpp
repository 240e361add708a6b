// The kernels of a layer between the places where it communicates.
#pragma once

#include "fabricast/workload/training.hpp"

namespace fabricast {

/// Attention with what is around it, or a feed-forward part; s on one GPU for one micro-batch.
struct HalfLayer {
  double parts = 1;        ///< that a layer has in the mean: each has exchanges of its own
  double before = 0;       ///< ahead of the exchange of tokens with experts: norm, router, shared experts
  double forward = 0;      ///< before excluded
  double core = 0;         ///< of forward: attention without its linear layers
  double elementwise = 0;  ///< of before and forward
  double gemms = 0;     ///< of before and forward: linear layers
  double norm = 0;         ///< of elementwise
  double activation = 0;   ///< of elementwise: activation functions of experts
  double latent = 0;       ///< of products: queries, keys and values from their latent vectors
  double shared = 0;       ///< of before: shared experts
  double before_backward = 0;
  double data_gradient = 0, weight_gradient = 0;
  double launch_before = 0;   ///< that the host takes to launch what is in `before`, forward or backward
  double launch = 0;          ///< the same of all else
  bool synchronizes = false;  ///< the host waits for `before`: how many tokens go where decides what it launches next
};
struct LayerTimes {
  HalfLayer attention, ffn;
};
/// Both of a layer's mixers, each as often as a layer has it in the mean.
HalfLayer mean_of(const HalfLayer& one, double of_one, const HalfLayer& other, double of_other);

/// Whether tensor parallelism gathers what GEMMs read, or their gradients, when they are cast to 8 bits already.
bool gathers_cast(const TrainingStep& step);

/// \param experts whether its feed-forward part is made of experts
LayerTimes time_layer(const TrainingStep& step, bool experts);

/// s of what `step.recompute` computes again of a layer's backward pass, without exchanges.
double again_seconds(const TrainingStep& step, const LayerTimes& layer, bool experts);

/// Tokens that a rank hands to experts of a layer, copies to several experts counted.
double dispatched_tokens(const TrainingStep& step);

/// Tokens of the busiest rank, each once.
double busiest_tokens(const TrainingStep& step);
/// What an alltoall sends of them: copies to several experts of one node may go as one; the busiest rank counts.
double sent_tokens(const TrainingStep& step);

struct VocabularyTimes {
  double forward = 0, backward = 0;  ///< output matrix and loss
  double embedding = 0, embedding_backward = 0;
};
VocabularyTimes time_vocabulary(const TrainingStep& step);

/// What a module of multi-token prediction computes beside its layer and the vocabulary: the embedding of the token further
/// on and a norm of either vector, one vector from the two, and a norm of what comes out.
struct MtpTimes {
  double forward = 0, backward = 0;
};
MtpTimes time_mtp(const TrainingStep& step);

}  // namespace fabricast
