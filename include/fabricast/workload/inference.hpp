// An inference step: from a model, its split over ranks and a serving engine to a program.
//
// A *pass* computes new tokens of several sequences: one of each to decode (more with speculation), or prompts, or both. A
// rank's time of a pass is that of its kernels (docs/models/inference.md); collectives take what the network gives them, or
// what the engine's own kernel takes where it has one.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fabricast/workload/kernels.hpp"
#include "fabricast/workload/memory.hpp"
#include "fabricast/workload/model.hpp"
#include "fabricast/workload/own_all_reduce.hpp"
#include "fabricast/workload/parallel.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// The precision of GEMMs, and of their weights in memory.
struct GemmPrecision {
  Precision compute = Precision::bf16;
  Precision weights = Precision::bf16;
  bool operator==(const GemmPrecision&) const = default;
};

/// Tokens that are guessed and then verified by one pass [Leviathan2023].
struct Speculation {
  int tokens = 0;         ///< guessed per step; 0: none
  double acceptance = 0;  ///< probability that a guess holds whose predecessors do
  int layers = 1;         ///< of the model's own kind, which a guess computes, with the vocabulary
  /// Mean tokens of a step: the guesses that hold, and one that the pass gives itself.
  double tokens_per_step() const;
};

struct InferenceStep {
  Transformer model;
  ParallelLayout layout;  ///< `data`: replicas, each with requests of its own
  std::uint32_t first_rank = 0;
  GemmPrecision linear;   ///< of all linear layers but routed experts
  GemmPrecision experts;  ///< of routed experts
  Precision cache = Precision::bf16;
  int batch = 1;                       ///< sequences that a replica decodes at once
  std::int64_t input = 1, output = 1;  ///< tokens of a request
  std::int64_t chunk = 0;              ///< tokens of a pass with prompts, at most
  bool graph = true;                   ///< decode passes are CUDA graphs
  bool overlap = false;                ///< two halves of a pass take turns
  double imbalance = 1;                ///< tokens of the busiest rank's experts, relative to the mean
  int redundant_experts = 0;           ///< copies of experts, of all ranks together
  Speculation speculation;
  ServingStack stack;
  Kernels kernels;
  OwnAllReduce own_all_reduce;

  /// Tokens that are cached of a sequence, in the mean over its output.
  std::int64_t mean_context() const { return input + output / 2; }
};

/// What a replica computes at once.
struct InferencePass {
  std::int64_t sequences = 0, context = 0;          ///< that are decoded, over so many cached tokens
  std::int64_t width = 1;                           ///< tokens of a sequence: more than one to verify guesses
  std::int64_t prompts = 0, queries = 0, keys = 0;  ///< prompts, new tokens of each, and keys that the last one sees
  std::int64_t tokens() const { return sequences * width + prompts * queries; }
};

/// The two halves of a pass that take turns; one sequence is not split.
std::vector<InferencePass> halves_of(const InferencePass& pass);
/// The passes of a decode step: with a pipeline as many as it has stages, to fill it.
std::vector<InferencePass> decode_passes(const InferenceStep& step);
/// The passes over prompts: several prompts together, or each in chunks.
std::vector<InferencePass> prefill_passes(const InferenceStep& step, std::int64_t prompts);

/// Seconds of a pass on a GPU, by what its kernels do; without exchanges.
struct LayerTime {
  double gemms = 0, attention = 0, elementwise = 0;
  int kernels = 0;
};
struct PassTime {
  LayerTime attention, dense, sparse;  ///< of half a layer each
  LayerTime embedding, vocabulary;
};
PassTime time_pass(const InferenceStep& step, const InferencePass& pass);
/// The pass that guesses a token of each sequence.
InferencePass guessing_pass(const InferencePass& pass);
/// The attention of a layer alone, the mean over layers.
double time_attention(const InferenceStep& step, const InferencePass& pass);

/// Cache of a request handed over from one replica to another that is on other GPUs.
struct KvTransfer {
  std::int64_t bytes = 0;  ///< of a pair of ranks
  /// Sets of pairs of ranks, sender first; a rank is in a set at most once.
  std::vector<RankGroups> pairs;
  double total = 0;  ///< B that all pairs of a request send
};
/// Replica i of `from` sends to replica i of `to`, as many as both have.
KvTransfer kv_transfer_of(const InferenceStep& from, const InferenceStep& to);

struct InferenceProgram {
  Program program;
  /// Work of the host that launches a call of an exchange: activity, kind. Takes the exchange's launch time.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launches;
};
/// The passes, `rounds` times: a pass of a round begins when its tokens of the round before are there.
/// \param handover  runs beside, from the beginning on
/// \param graph     whether passes are CUDA graphs
InferenceProgram inference_program(const InferenceStep& step, const std::vector<InferencePass>& passes, int rounds,
                                   bool graph, const KvTransfer* kv_transfer = nullptr);
/// One all-reduce of tensor parallelism of so many bytes, by the engine's own kernel or NCCL.
InferenceProgram all_reduce_program(const InferenceStep& step, Bytes bytes, bool graph);
/// The hand-over alone.
Program kv_transfer_program(const KvTransfer& kv_transfer);

/// Bytes of keys and values of a token that one rank holds, of one layer.
double cached_bytes(const InferenceStep& step);
/// What a rank holds with so many sequences.
MemoryQuestion memory_question(const InferenceStep& step, int batch, int nvlink_ranks);

}  // namespace fabricast
