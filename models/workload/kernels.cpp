// GEMMs follow a roofline with tiles, waves and pipeline depth. The constants of the tiles are from [steptime-study-2];
// those that are not are marked.
//
// Every kernel takes the longer of arithmetic and memory traffic, max(F / (P e), B / (H e')), where P and H are the
// data sheet's rates and e, e' the fractions that such kernels reach (docs/models/compute.md). The parameters are
// fitted to kernels that others measured and to training steps [kernel-fit-2026-11] [step-fit-2026-11].
#include "fabricast/workload/kernels.hpp"
#include "fabricast/core/real.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

void check_sizes(std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t n : sizes) FABRICAST_CHECK(n >= 0, "a kernel of negative size");
}

/// Attention computes and keeps its operands at 16 bits.
constexpr double bytes_16 = 2;
double peak_16(const Kernels& k) { return k.peak[static_cast<std::size_t>(Precision::fp16)]; }

/// The share of a peak at the power limit. A limit above that of the data sheet does not exceed the peak.
double at_power(const Kernels& k, double peak, double share) { return peak * std::min(1.0, share * k.speed); }

/// The part of a GEMM that one thread block computes, and its rate relative to the largest tile.
struct Tile {
  std::int64_t rows, columns;
  double efficiency;
};
constexpr std::array tiles = {Tile{256, 128, 1}, Tile{128, 128, 0.9}, Tile{256, 64, 0.85}, Tile{128, 64, 0.72},
                              Tile{64, 64, 0.5},
                              // Few rows, as in decoding: the rates are a guess.
                              Tile{128, 32, 0.6}, Tile{128, 16, 0.5}};

/// `count` GEMMs of m x k by k x n.
struct Shape {
  std::int64_t m, n, k, count;
};

/// Terms of the sum that correspond to filling and draining the pipeline of a tile. This takes a fixed time, so the
/// number of terms grows with the rate of the arithmetic.
double depth_of(const Kernels& k, Precision p) {
  return k.model.gemm_depth.value * k.peak[static_cast<std::size_t>(p)] / peak_16(k);
}

/// Seconds with a given tile. If the thread blocks do not fill the GPU, several share the terms of a sum (split-K) and
/// pass partial sums through memory in fp32. \param bytes, memory  traffic, and rate of the memory in B/s
double gemm_seconds(const Kernels& kernels, const Shape& s, const Tile& tile, double rate, double depth, double bytes,
                    double memory) {
  // Thread blocks of all GEMMs run in waves over the SMs. Idle SMs of the last wave and the unused parts of tiles at
  // the edges are what makes some sizes slow.
  const std::int64_t blocks = s.count * ceil_div(s.m, tile.rows) * ceil_div(s.n, tile.columns);
  const double of_one = rate / kernels.multiprocessors * tile.efficiency;
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t split = 1; split <= 16; split *= 2) {
    if (split > 1 && blocks * split > kernels.multiprocessors) break;
    const double terms = real(ceil_div(s.k, split)) + depth;
    const double waves = real(ceil_div(blocks * split, kernels.multiprocessors));
    const double partial = split > 1 ? 8 * real(split) * real(s.m) * real(s.n) * real(s.count) : 0;
    const double seconds = waves * 2 * real(tile.rows * tile.columns) * terms / of_one;
    best = std::min(best, std::max(seconds, (bytes + partial) / memory));
  }
  return best;
}

/// Maximum number of keys that a query sees.
std::int64_t reach(const AttentionBlock& b) { return b.window > 0 ? std::min(b.window, b.keys) : b.keys; }

double head_dim(const AttentionHeads& h) { return real(h.key_dim + h.value_dim) / 2; }

/// FLOP/s of fused attention. In addition to its GEMMs, a score costs as much as `flash_head` dimensions of a head. The
/// parameter `flash` holds for heads of 128.
double flash_rate(const Kernels& k, const AttentionHeads& heads, double share) {
  const double other = k.model.flash_head.value;
  return at_power(k, peak_16(k), share * (1 + other / 128) / (1 + other / head_dim(heads)));
}

bool is_empty(const AttentionBlock& b) {
  check_sizes({b.heads.heads, b.heads.kv_heads, b.heads.key_dim, b.heads.value_dim, b.sequences, b.queries, b.keys});
  return b.heads.heads == 0 || b.heads.key_dim + b.heads.value_dim == 0 || b.sequences == 0 || b.queries == 0 ||
         b.keys == 0;
}

/// Bytes of queries, keys, values and the output, each once.
double operand_bytes(const AttentionBlock& b) {
  return bytes_16 * real(b.sequences) * real(b.heads.key_dim + b.heads.value_dim) *
         (real(b.heads.heads) * real(b.queries) + real(b.heads.kv_heads) * real(b.keys));
}

double memory_seconds(const Kernels& k, const Parameter& share, double bytes) {
  return bytes / (k.memory_rate.value * share.value);
}

/// \param flops_factor, bytes_factor  relative to the forward pass
Seconds flash(const Kernels& k, const AttentionBlock& b, double share, const Parameter& block, double flops_factor,
              double bytes_factor) {
  if (is_empty(b)) return {};
  // Pairs of queries and keys determine the work. Blocks of few keys per query leave part of a tile idle: the rate
  // rises as L / (L + flash_block) with L keys per query on average.
  const double pairs = attended(b), flops = 2 * pairs * real(b.sequences * b.heads.heads) * 2 * head_dim(b.heads);
  const double filled = pairs / (pairs + real(b.queries) * block.value);
  return {std::max(pairs > 0 ? flops_factor * flops / flash_rate(k, b.heads, share * filled) : 0,
                   memory_seconds(k, k.model.gemm_memory, bytes_factor * operand_bytes(b)))};
}

/// Bytes per score of the passes between the GEMMs, with dropout [steptime-study-2].
constexpr double softmax_forward = 9, softmax_backward = 11;

Seconds unfused(const Kernels& k, const AttentionBlock& b, double gemms, double softmax) {
  if (is_empty(b)) return {};
  const AttentionHeads& h = b.heads;
  // Without fusion the scores of the whole square are written and read between the GEMMs, so a causal mask saves
  // nothing.
  const double scores = real(b.sequences) * real(h.heads) * real(b.queries) * real(b.keys);
  const double full = at_power(k, peak_16(k), k.model.unfused.value);
  const auto gemm = [&](std::int64_t dim) {
    // Rows of heads that do not begin at multiples of 16 B miss the tensor cores, so CUDA cores multiply: 39 of 312
    // TFLOP/s in bf16 on an A100 [vendor-datasheets]. In fp16, where they reach a quarter, this is too slow.
    const bool aligned = dim % 8 == 0;
    const double rate = aligned ? full : full / 8;
    const double operands =
        bytes_16 * real(b.sequences) * real(dim) * (real(h.heads) * real(b.queries) + real(h.kv_heads) * real(b.keys));
    return std::max(2 * scores * real(dim) / rate, memory_seconds(k, k.model.stream, bytes_16 * scores + operands));
  };
  return {gemms * (gemm(h.key_dim) + gemm(h.value_dim)) + memory_seconds(k, k.model.stream, softmax * scores)};
}

}  // namespace

double Kernels::gemm_rate(Precision p) const {
  // Some GEMMs run in bf16 whatever the precision of the step. GPUs without bf16 run them in fp16.
  if (p == Precision::bf16 && !has(p)) p = Precision::fp16;
  FABRICAST_CHECK(has(p), fmt::format("{} does not support {}", gpu, name_of(p)));
  return at_power(*this, peak[static_cast<std::size_t>(p)], model.gemms(p).value * boost);
}

Kernels resolve_kernels(const NodeSpec& spec, const Hardware& hardware) {
  const GpuKind& gpu = hardware.gpus.find(spec.gpu)->second;
  Kernels k;
  k.gpu = gpu.name;
  k.peak = gpu.sheet.peak;
  k.multiprocessors = gpu.sheet.multiprocessors;
  k.memory = spec.memory;
  k.memory_rate = spec.memory_rate;
  k.model = hardware.compute_model(gpu.compute);
  k.power = spec.power / gpu.sheet.power;
  // Arithmetic follows the clock and, with an exponent below one, the power limit. Memory does not.
  k.speed = spec.clock.value * std::pow(k.power, k.model.power_exponent.value);
  return k;
}

BytesPerSecond host_rate(const NodeSpec& node, const Hardware& hardware) {
  const GpuKind& gpu = hardware.gpus.find(node.gpu)->second;
  return hardware.links.find(gpu.c2c.empty() ? gpu.pcie : gpu.c2c)->second.payload_rate();
}

void check_precision(const Kernels& kernels, Precision precision, std::string_view path) {
  if (kernels.has(precision)) return;
  std::string known;
  for (std::size_t p = 0; p < kernels.peak.size(); ++p)
    if (kernels.peak[p] > 0) known += fmt::format("{}{}", known.empty() ? "" : ", ", EnumNames<Precision>::names[p]);
  throw UserError::at(std::string(path), fmt::format("{} does not support {}", kernels.gpu, name_of(precision)),
                      fmt::format("it supports {}", known));
}

Seconds gemm(const Kernels& kernels, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
             std::int64_t count, std::optional<NumberFormat> weights) {
  check_sizes({m, n, k, count});
  if (m == 0 || n == 0 || k == 0 || count == 0) return {};
  if (precision == Precision::bf16 && !kernels.has(precision)) precision = Precision::fp16;
  // Grouped kernels learn their shapes only at run time, and their thread blocks share less data.
  const double rate = kernels.gemm_rate(precision) * (count > 1 ? kernels.model.grouped.value : 1);
  const double depth = depth_of(kernels, precision);
  // Results have 16 bits if the operands have fewer.
  const double in = stored_bytes_of(precision);
  const NumberFormat held = weights.value_or(format_of(precision));
  const double out = std::max(in, bytes_16);
  const double bytes =
      real(count) * (in * real(m) * real(k) + stored_bytes_of(held) * real(k) * real(n) + out * real(m) * real(n));
  const Parameter& share = bytes_of(held) < 1 ? kernels.model.gemm_memory_4 : kernels.model.gemm_memory;
  const double memory = kernels.memory_rate.value * share.value;
  double best = std::numeric_limits<double>::infinity();
  for (Tile tile : tiles) {
    if (count > 1) tile.efficiency = std::min(tile.efficiency, kernels.grouped_limit);
    // Libraries have each tile in both orientations and choose the fastest, which the minimum stands for.
    const Tile turned{tile.columns, tile.rows, tile.efficiency};
    best = std::min({best, gemm_seconds(kernels, {m, n, k, count}, tile, rate, depth, bytes, memory),
                     gemm_seconds(kernels, {m, n, k, count}, turned, rate, depth, bytes, memory)});
  }
  return {best};
}

AttentionHeads training_heads(const Transformer& model, int tensor) {
  const bool latent = model.kv_rank > 0;
  AttentionHeads h;
  h.heads = ceil_div(model.heads, tensor);
  h.kv_heads = ceil_div(latent ? model.heads : model.kv_heads, tensor);
  h.key_dim = model.head_dim + (latent ? model.rope_dim : 0);
  h.value_dim = latent ? model.value_dim : model.head_dim;
  h.cached = latent ? model.kv_rank + model.rope_dim : h.kv_heads * (h.key_dim + h.value_dim);
  return h;
}

AttentionHeads decode_heads(const Transformer& model, int tensor) {
  AttentionHeads h = training_heads(model, tensor);
  // Decoding maps queries into the latent space instead of expanding the cache: one key head of the latent width, whose
  // first kv_rank elements are the values [DeepSeek2024a].
  if (model.kv_rank > 0) {
    h.kv_heads = 1;
    h.key_dim = h.cached;
    h.value_dim = model.kv_rank;
  }
  return h;
}

double attended(const AttentionBlock& b) {
  const std::int64_t cap = reach(b);
  if (!b.causal) return real(b.queries) * real(cap);
  // The last query is aligned with the last key, so query i of q sees `keys - q + i + 1` keys, but 0 to `cap`.
  const double first = real(std::max<std::int64_t>(b.keys - b.queries + 1, 1)), last = real(b.keys), most = real(cap);
  // A sum of an arithmetic series, cut at the window.
  if (first > most) return (last - first + 1) * most;
  return (first + most) * (most - first + 1) / 2 + (last - most) * most;
}

Seconds flash_forward(const Kernels& kernels, const AttentionBlock& block) {
  return flash(kernels, block, kernels.model.flash.value, kernels.model.flash_block, 1, 1);
}

Seconds flash_backward(const Kernels& kernels, const AttentionBlock& block) {
  // Twice the bytes of the forward pass: gradients of all operands are written, and the output and its gradient are
  // read.
  const double share = kernels.model.flash.value * kernels.model.flash_backward.value;
  return flash(kernels, block, share, kernels.model.flash_backward_block, 2.5, 2);
}

Seconds unfused_forward(const Kernels& kernels, const AttentionBlock& block) {
  return unfused(kernels, block, 1, softmax_forward);
}

Seconds unfused_gemms(const Kernels& k, double operations) {
  return {operations / at_power(k, peak_16(k), k.model.unfused.value)};
}

Seconds unfused_backward(const Kernels& kernels, const AttentionBlock& block) {
  return unfused(kernels, block, 2, softmax_backward);
}

Seconds decode_attention(const Kernels& k, const AttentionHeads& heads, std::int64_t sequences, std::int64_t context,
                         NumberFormat cache, std::int64_t queries) {
  const AttentionBlock block{heads, sequences, queries, context, false, 0};
  if (is_empty(block)) return {};
  FABRICAST_CHECK(heads.kv_heads > 0, "attention without keys");
  const double dims = real(heads.key_dim + heads.value_dim);
  const double bytes = real(sequences) * (real(context) * real(heads.cached) * stored_bytes_of(cache) +
                                          bytes_16 * real(queries) * real(heads.heads) * dims);
  // Queries that share keys are the rows of a GEMM, which has at least 16.
  constexpr std::int64_t rows = 16;
  const std::int64_t group = round_up(ceil_div(heads.heads, heads.kv_heads) * queries, rows);
  const double flops = 2 * real(sequences) * real(context) * real(heads.kv_heads) * real(group) * dims;
  return {std::max(memory_seconds(k, k.model.decode_memory, bytes), flops / flash_rate(k, heads, k.model.flash.value))};
}

Seconds stream(const Kernels& kernels, Bytes traffic) {
  check_sizes({traffic.value});
  return {memory_seconds(kernels, kernels.model.stream, real(traffic.value))};
}

Seconds optimizer(const Kernels& kernels, Bytes traffic) {
  check_sizes({traffic.value});
  return {memory_seconds(kernels, kernels.model.optimizer_stream, real(traffic.value))};
}

Seconds copy(const Kernels& kernels, Bytes bytes) { return stream(kernels, bytes * 2); }

}  // namespace fabricast
