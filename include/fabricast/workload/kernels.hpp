// What single kernels take on a GPU: matrix products, attention, and what memory alone bounds (docs/models/compute.md).
//
// Pure functions of sizes. A kernel takes the longer of its arithmetic and its memory traffic, each at what such kernels
// reach. Times are of the kernel alone: the gap to the next one is `kernel_gap`, which the caller adds where it shows.
// No size, no time: a size of 0 gives 0 s. Times never fall where a size grows, and no kernel is above the data sheet.
//
// Not modelled: what caches keep from one kernel to the next, clocks that sink with heat, sparsity, multiprocessors
// that other kernels hold (the timeline slows computation down beside exchanges).
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

/// A GPU as its kernels see it; a plain value.
struct Kernels {
  std::string gpu;
  std::array<double, 6> peak{};  ///< FLOP/s of the data sheet by Precision; 0: the GPU has none
  double speed = 1;              ///< of arithmetic at the power limit, relative to the power of the data sheet
  int multiprocessors = 1;
  Bytes memory;
  BytesPerSecond memory_rate;
  ComputeModel model;

  bool has(Precision p) const { return peak[static_cast<std::size_t>(p)] > 0; }
  Seconds kernel_gap() const { return model.kernel_gap.us(); }
  /// FLOP/s of large products, after the power limit. \pre has(p)
  double gemm_rate(Precision p) const;
};

Kernels resolve_kernels(const NodeSpec& spec, const Hardware& hardware);
/// \throws UserError at `path` if the GPU has no such precision.
void check_precision(const Kernels& kernels, Precision precision, std::string_view path);

/// `count` products side by side, as of experts: each of m x k by k x n, all operands once through memory. More than one
/// reach `grouped` of the rate of one. Casts of operands are not in it.
/// \param weights  of the k x n as memory has it, where it is widened or narrowed on its way to the product
Seconds gemm(const Kernels& kernels, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
             std::int64_t count = 1, std::optional<Precision> weights = std::nullopt);

/// The attention of a rank: its heads, and what it keeps of a token.
struct AttentionHeads {
  std::int64_t heads = 0, kv_heads = 0;  ///< heads / kv_heads queries meet the same keys
  std::int64_t key_dim = 0, value_dim = 0;
  std::int64_t cached = 0;  ///< numbers kept of a token
};
/// One of `tensor` ranks of a layer, in training and prefill: latent vectors (MLA) are spread out to keys and values.
AttentionHeads training_heads(const Transformer& model, int tensor);
/// The same while decoding: queries are brought to the latent vectors, which all heads share and all ranks hold.
AttentionHeads decode_heads(const Transformer& model, int tensor);

/// A block of queries and one of keys. Causal: the last query is at the last key, so with as many queries as keys it is
/// the usual half square. Ranks that share a sequence have blocks of their own; blocks off the diagonal are not causal.
struct AttentionBlock {
  AttentionHeads heads;
  std::int64_t sequences = 1, queries = 0, keys = 0;
  bool causal = true;
  std::int64_t window = 0;  ///< tokens that a query looks back; 0: all
};
/// Pairs of query and key that meet, of a head and a sequence.
double attended(const AttentionBlock& block);

/// Fused: scores stay on chip. Backward computes them again: 5 products to the forward's 2.
Seconds flash_forward(const Kernels& kernels, const AttentionBlock& block);
Seconds flash_backward(const Kernels& kernels, const AttentionBlock& block);
/// Products of 16 bits as small as those of a head, by themselves: at the rate that attention's reach.
Seconds unfused_gemms(const Kernels& kernels, double operations);
/// By separate products over the full square, scores in memory; softmax, mask and dropout are passes over them.
Seconds unfused_forward(const Kernels& kernels, const AttentionBlock& block);
Seconds unfused_backward(const Kernels& kernels, const AttentionBlock& block);
/// `queries` new tokens of each sequence over a cache of `context` tokens: reads the cache once.
Seconds decode_attention(const Kernels& kernels, const AttentionHeads& heads, std::int64_t sequences,
                         std::int64_t context, Precision cache, std::int64_t queries = 1);

/// Element-wise kernels that read and write so much, together.
Seconds stream(const Kernels& kernels, Bytes traffic);
/// The optimizer's step, likewise.
Seconds optimizer(const Kernels& kernels, Bytes traffic);
/// A copy within memory: every byte is read and written.
Seconds copy(const Kernels& kernels, Bytes bytes);

}  // namespace fabricast
