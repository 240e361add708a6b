// An inference step: from a model, its parallel layout and a serving engine to a program.
//
// A *pass* is one traversal of the model. It decodes a token for each of several sequences (several tokens with
// speculation), or processes prompts, or both. The compute time of a pass is the sum of its kernels on one rank
// (docs/models/inference.md). Collectives take the time that the network model gives them, except small all-reduces
// that the engine runs as a kernel of its own (own_all_reduce.hpp).
//
// Units: bytes and tokens as plain numbers, times in seconds. Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fabricast/workload/kernels.hpp"
#include "fabricast/workload/kv_cache.hpp"
#include "fabricast/workload/memory.hpp"
#include "fabricast/workload/model.hpp"
#include "fabricast/workload/own_all_reduce.hpp"
#include "fabricast/workload/parallel.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// The precision in which GEMMs compute, and the format of their weights in memory.
struct GemmPrecision {
  Precision compute = Precision::bf16;
  NumberFormat weights = NumberFormat::bf16;
  bool operator==(const GemmPrecision&) const = default;
};

/// Speculative decoding: tokens are guessed, and one pass verifies them [Leviathan2023].
struct Speculation {
  int tokens = 0;         ///< guessed per step; 0: none
  double acceptance = 0;  ///< probability that a guess is accepted if all guesses before it are
  int layers = 1;         ///< layers of the model's own kind that compute a guess, in addition to the vocabulary
  /// Mean number of tokens per step: 1 + a + a^2 + ... + a^tokens for acceptance a. The verifying pass yields one token
  /// itself.
  double tokens_per_step() const;
};

/// An inference step on the GPUs that share one layout, with all settings resolved. A plain value.
struct InferenceStep {
  Transformer model;
  ParallelLayout layout;         ///< `data`: replicas, each with its own requests
  std::uint32_t first_rank = 0;  ///< of these GPUs in the job; above 0 if other GPUs process the prompts
  GemmPrecision linear;          ///< of all linear layers except the following
  GemmPrecision experts;         ///< of routed experts
  GemmPrecision projection;      ///< of attention's output projection
  NumberFormat cache = NumberFormat::bf16;
  double offload_weights = 0;          ///< fraction of the weights of linear layers in host memory
  BytesPerSecond host_rate;            ///< between a GPU and the memory of its host, in one direction
  int batch = 1;                       ///< sequences that a replica decodes concurrently
  std::int64_t input = 1, output = 1;  ///< tokens of a request
  std::int64_t chunk = 0;              ///< maximum tokens of a pass that holds prompts
  bool graph = true;                   ///< decode passes run as CUDA graphs
  bool overlap = false;                ///< a pass is split in halves whose communication and computation alternate
  double imbalance = 1;                ///< tokens for the experts of the busiest rank, relative to the mean
  int redundant_experts = 0;           ///< additional copies of experts, summed over all ranks
  Speculation speculation;
  ServingStack stack;
  Kernels kernels;
  OwnAllReduce own_all_reduce;
  KvPages pages;  ///< of the KV cache

  /// Cached tokens of a sequence, averaged over the generation of its output.
  std::int64_t mean_context() const { return input + output / 2; }
};

/// The work of one replica in one pass.
struct InferencePass {
  std::int64_t sequences = 0, context = 0;          ///< decoded sequences, and cached tokens of each
  std::int64_t width = 1;                           ///< tokens computed per decoded sequence; above 1 verifies guesses
  std::int64_t prompts = 0, queries = 0, keys = 0;  ///< prompts, new tokens of each, and keys that the last token sees
  /// Tokens that the pass computes.
  std::int64_t tokens() const { return sequences * width + prompts * queries; }
};

/// The two halves of a pass with overlap. A pass with a single sequence or prompt is returned whole.
std::vector<InferencePass> halves_of(const InferencePass& pass);
/// The passes of a decode step. A pipeline gets one pass per stage, to keep all stages busy, but no more than
/// sequences.
std::vector<InferencePass> decode_passes(const InferenceStep& step);
/// The passes that process `prompts` prompts: several prompts per pass if they fit in `step.chunk` tokens, otherwise
/// each prompt in chunks. \param cached  tokens of each prompt whose keys and values exist already
std::vector<InferencePass> prefill_passes(const InferenceStep& step, std::int64_t prompts, std::int64_t cached = 0);

/// Compute time on one GPU, by kind of kernel and without communication, and the number of kernels.
struct LayerTime {
  Seconds gemms, attention, elementwise;
  int kernels = 0;
};
/// Compute time of a pass, by block.
struct PassTime {
  LayerTime attention, dense, sparse;  ///< attention, dense feed-forward and expert block of one layer
  LayerTime embedding, vocabulary;
};
/// Times the kernels of a pass on one rank. Blocks that the model does not have stay 0.
PassTime time_pass(const InferenceStep& step, const InferencePass& pass);
/// The pass that guesses one token of each sequence.
InferencePass guessing_pass(const InferencePass& pass);
/// The time of the attention kernels alone, averaged over layers.
Seconds time_attention(const InferenceStep& step, const InferencePass& pass);

/// KV-cache transfer of one request between replicas on different GPUs.
struct KvTransfer {
  std::int64_t bytes = 0;  ///< per pair of ranks
  /// Sets of (sender, receiver) pairs. A rank occurs at most once in a set.
  std::vector<RankGroups> pairs;
  Bytes total;  ///< that all pairs of one request send
  // If it is sent from memory to memory.
  bool direct = false;
  KvDescriptors descriptors;  ///< of a pair
  Seconds posting;            ///< host time of a sender for all descriptors of a request
  int rails = 1;              ///< NICs that each pair is split over
};
/// Replica i of `from` sends to replica i of `to`; replicas without a counterpart do not take part.
KvTransfer kv_transfer_of(const InferenceStep& from, const InferenceStep& to);

/// A program together with the host activities that launch its collectives.
struct InferenceProgram {
  Program program;
  /// (activity, collective kind) of host work that launches a collective. The caller gives the activity the launch time
  /// of that collective, which the network model knows.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launches;
};
/// The passes, repeated `rounds` times. A pass starts when its tokens of the previous round are available.
/// \param graph        whether passes run as CUDA graphs
/// \param kv_transfer  if not null, runs concurrently with the passes from the start
InferenceProgram inference_program(const InferenceStep& step, const std::vector<InferencePass>& passes, int rounds,
                                   bool graph, const KvTransfer* kv_transfer = nullptr);
/// One all-reduce of tensor parallelism of `bytes`, by the engine's own kernel or by NCCL.
InferenceProgram all_reduce_program(const InferenceStep& step, Bytes bytes, bool graph);
/// The KV-cache transfer alone.
Program kv_transfer_program(const KvTransfer& kv_transfer);

/// Bytes of keys and values of one token in one layer that a rank holds.
double cached_bytes(const InferenceStep& step);
/// Bytes that each rank of a replica holds of a prompt of `tokens`.
Bytes cache_of_rank(const InferenceStep& step, std::int64_t tokens);
/// The memory of a rank with `batch` sequences of full length. \param nvlink_ranks  GPUs that share NVLink
MemoryQuestion memory_question(const InferenceStep& step, int batch, int nvlink_ranks);

}  // namespace fabricast
