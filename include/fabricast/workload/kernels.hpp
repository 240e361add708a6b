// Times of single kernels on a GPU: GEMMs, attention, and kernels that memory bandwidth bounds
// (docs/models/compute.md).
//
// A kernel takes the longer of its arithmetic and its memory traffic, each at the efficiency that such kernels reach
// (ComputeModel in hardware/compute.hpp). Times are those of the kernel alone. The gap to the next kernel is
// `kernel_gap`, which the caller adds where the gap is exposed.
//
// Invariants: size 0 takes 0 s, times never decrease as a size grows, and no kernel exceeds the rates of the data
// sheet.
//
// Pure functions; safe to call concurrently. Negative sizes are internal errors.
// Not modelled: data that caches keep from one kernel to the next, clocks that decrease with temperature, sparsity, and
// SMs that other kernels occupy (the timeline slows computation down while communication overlaps it).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabricast/hardware/compute.hpp"
#include "fabricast/hardware/node.hpp"
#include "fabricast/workload/model.hpp"

namespace fabricast {

/// A GPU as its kernels see it. A plain value.
struct Kernels {
  std::string gpu;
  std::array<double, 6> peak{};  ///< FLOP/s of the data sheet by Precision; 0: not supported
  double speed = 1;              ///< of arithmetic at the given clock and power limit, relative to the data sheet
  double power = 1;              ///< power limit, relative to that of the data sheet
  /// Rate of GEMMs beyond that under sustained load, because other kernels leave them power (boost_of in layer.hpp).
  double boost = 1;
  /// Rate that grouped GEMMs do not exceed, relative to that with the largest tile.
  double grouped_limit = 1;
  int multiprocessors = 1;  ///< SMs
  Bytes memory;
  BytesPerSecond memory_rate;
  ComputeModel model;

  /// Whether the data sheet has a rate for a precision.
  bool has(Precision p) const { return peak[static_cast<std::size_t>(p)] > 0; }
  /// Time between the end of a kernel and the start of the next.
  Seconds kernel_gap() const { return model.kernel_gap.us(); }
  /// FLOP/s of large GEMMs at the power limit. A GPU without bf16 computes it in fp16. \pre the GPU supports one of
  /// them
  double gemm_rate(Precision p) const;
};

/// The kernels of a node's GPUs. \pre `spec.gpu` names a GPU of `hardware`
Kernels resolve_kernels(const NodeSpec& spec, const Hardware& hardware);
/// Rate between a GPU and host memory, one direction: over NVLink-C2C if the GPU has it, else over PCIe. \pre as above
BytesPerSecond host_rate(const NodeSpec& node, const Hardware& hardware);
/// \throws UserError at `path` if the GPU does not support the precision.
void check_precision(const Kernels& kernels, Precision precision, std::string_view path);

/// Time of `count` GEMMs in one kernel (a grouped GEMM, as of experts): each of m x k by k x n, with all operands read
/// or written once. With `count` above 1 the rate is lower by the factor `grouped`, and that of a tile is at most
/// `grouped_limit`. Casts of operands are not included.
/// \param weights  precision of the k x n operand in memory, if the kernel widens or narrows it before it multiplies
Seconds gemm(const Kernels& kernels, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
             std::int64_t count = 1, std::optional<NumberFormat> weights = std::nullopt);

/// Attention on one rank: its heads and its share of the cache.
struct AttentionHeads {
  std::int64_t heads = 0, kv_heads = 0;  ///< heads / kv_heads query heads share the same keys
  std::int64_t key_dim = 0, value_dim = 0;
  std::int64_t cached = 0;  ///< elements cached per token
};
/// Heads of one of `tensor` ranks in training and prefill, where latent vectors (MLA) are expanded to keys and values.
AttentionHeads training_heads(const Transformer& model, int tensor);
/// The same for decoding, where queries are projected into the latent space instead: all heads share the latent
/// vectors, and every rank holds them.
AttentionHeads decode_heads(const Transformer& model, int tensor);

/// A block of queries and one of keys. If causal, the last query is aligned with the last key, so equal numbers of both
/// give the usual lower triangle. Ranks that share a sequence have one block each per pair of ranks; blocks off the
/// diagonal are not causal.
struct AttentionBlock {
  AttentionHeads heads;
  std::int64_t sequences = 1, queries = 0, keys = 0;
  bool causal = true;
  std::int64_t window = 0;  ///< tokens that a query looks back; 0: all
};
/// Query-key pairs that the block evaluates, per head and sequence.
double attended(const AttentionBlock& block);

/// Fused (flash) attention, which keeps scores on chip. The backward pass recomputes them: 5 GEMMs compared with 2. The
/// kernel is the one written for the GPU, such as FlashAttention 3 or cuDNN's on Hopper; FlashAttention 2 has `flash_2`
/// times its rate.
Seconds flash_forward(const Kernels& kernels, const AttentionBlock& block);
Seconds flash_backward(const Kernels& kernels, const AttentionBlock& block);
/// 16-bit GEMMs of the size of a head, run as kernels of their own, at the rate of unfused attention.
/// \param operations  FLOPs, a multiply-add counted as two
Seconds unfused_gemms(const Kernels& kernels, double operations);
/// Attention by separate GEMMs over the full square of queries and keys, with scores in memory. Softmax, mask and
/// dropout are passes over the scores.
Seconds unfused_forward(const Kernels& kernels, const AttentionBlock& block);
Seconds unfused_backward(const Kernels& kernels, const AttentionBlock& block);
/// Attention of `queries` new tokens of each sequence over `context` cached tokens. Reads the cache once.
Seconds decode_attention(const Kernels& kernels, const AttentionHeads& heads, std::int64_t sequences,
                         std::int64_t context, NumberFormat cache, std::int64_t queries = 1);

/// Element-wise kernels with this much memory traffic (reads and writes together).
Seconds stream(const Kernels& kernels, Bytes traffic);
/// The same for the optimizer.
Seconds optimizer(const Kernels& kernels, Bytes traffic);
/// A copy within GPU memory, which reads and writes every byte.
Seconds copy(const Kernels& kernels, Bytes bytes);

}  // namespace fabricast
