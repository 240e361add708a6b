// Attention: pairs that meet, closed forms, grouped and latent heads.
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"
#include "support/ideal_kernels.hpp"

namespace fabricast {
namespace {

using test::ideal_kernels;
using test::kernels_of;

AttentionBlock square(std::int64_t tokens, bool causal = true) {
  return {{16, 16, 128, 128, 16 * 256}, 1, tokens, tokens, causal, 0};
}

Transformer llama_70b() {
  Transformer t;
  t.layers = 80, t.hidden = 8192, t.heads = 64, t.kv_heads = 8, t.head_dim = 128;
  return t;
}
Transformer deepseek_v3() {
  Transformer t;
  t.layers = 61, t.hidden = 7168, t.heads = 128, t.kv_heads = 128, t.head_dim = 128;
  t.q_rank = 1536, t.kv_rank = 512, t.rope_dim = 64, t.value_dim = 128;
  return t;
}

TEST_CASE("pairs of query and key match a count one by one", "[kernels]") {
  for (std::int64_t queries = 1; queries <= 9; ++queries)
    for (std::int64_t keys = 1; keys <= 9; ++keys)
      for (std::int64_t window = 0; window <= 10; ++window)
        for (const bool causal : {true, false}) {
          AttentionBlock b = square(1, causal);
          b.queries = queries, b.keys = keys, b.window = window;
          std::int64_t pairs = 0;
          for (std::int64_t i = 0; i < queries; ++i) {
            std::int64_t seen = causal ? std::max<std::int64_t>(0, keys - queries + i + 1) : keys;
            if (window > 0) seen = std::min(seen, window);
            pairs += seen;
          }
          INFO(queries << " x " << keys << ", window " << window << (causal ? ", causal" : ""));
          REQUIRE(attended(b) == static_cast<double>(pairs));
        }
}

TEST_CASE("fused attention reaches its rate at full blocks", "[kernels]") {
  const Kernels k = ideal_kernels();
  // 16 heads, 1024 x 1025 / 2 pairs of 4 x 128 operations; backward 5 GEMMs for 2.
  const double seconds = 16 * 1024. * 1025 / 2 * 4 * 128 / 1e14;
  CHECK(flash_forward(k, square(1024)).value == Approx(seconds));
  CHECK(flash_backward(k, square(1024)).value == Approx(2.5 * seconds));
  // Blocks of a sequence over two ranks, balanced: each has its share of the whole.
  AttentionBlock half = square(512), across = square(512, false);
  const double split = 2 * flash_forward(k, half).value + flash_forward(k, across).value;
  CHECK(split == Approx(seconds));
}

TEST_CASE("memory-bound fused attention reads its operands once", "[kernels]") {
  Kernels k = ideal_kernels();
  k.memory_rate = BytesPerSecond{1e6};
  AttentionBlock b = square(256);
  b.heads.kv_heads = 2, b.keys = 1024;
  const double bytes = 2 * 256. * (16 * 256 + 2 * 1024);
  CHECK(flash_forward(k, b).value == Approx(bytes / 1e6));
  CHECK(flash_backward(k, b).value == Approx(2 * bytes / 1e6));
}

TEST_CASE("fused attention reaches half its rate at flash_block keys", "[kernels]") {
  Kernels k = ideal_kernels();
  const AttentionBlock full = square(512, false);
  const double peak = flash_forward(k, full).value;
  k.model.flash_block.value = 512;
  CHECK(flash_forward(k, full).value == Approx(2 * peak));
  // A window makes blocks shorter; a longer sequence then costs in proportion.
  AttentionBlock windowed = square(65536);
  windowed.window = 512;
  AttentionBlock twice = square(131072);
  twice.window = 512;
  CHECK(flash_forward(k, twice) / flash_forward(k, windowed) == Approx(2).epsilon(0.01));
}

TEST_CASE("small heads take more time per operation", "[kernels]") {
  Kernels k = ideal_kernels();
  k.model.flash.value = 0.5, k.model.flash_head.value = 64;
  AttentionBlock b = square(4096);
  const double of_128 = flash_forward(k, b).value;
  CHECK(of_128 == Approx(16 * 4096. * 4097 / 2 * 4 * 128 / 0.5e14));
  b.heads.key_dim = b.heads.value_dim = 64;
  // (64 + 64) dimensions against (128 + 64): 2/3, not half.
  CHECK(flash_forward(k, b).value == Approx(of_128 * 2 / 3));
}

TEST_CASE("unfused attention by hand [steptime-study-2]", "[kernels]") {
  Kernels k = ideal_kernels();
  const AttentionBlock b = square(2048);
  const double scores = 16. * 2048 * 2048;
  CHECK(unfused_forward(k, b).value == Approx(scores * 4 * 128 / 1e14));
  // Heads of 108 numbers are 216 B wide, so half of them begin off the 16 B that tensor cores load.
  AttentionBlock off = b;
  off.heads.key_dim = off.heads.value_dim = 108;
  CHECK(unfused_forward(k, off).value == Approx(scores * 4 * 108 / (1e14 / 8)));
  // At 1 TB/s memory bounds all: a score of 2 B written and one read, operands twice, 9 B between; then twice and 11 B.
  k.memory_rate = BytesPerSecond{1e12};
  k.peak.fill(1e17);
  const double gemms = 2 * (2 * scores + 2 * 2 * 16. * 2048 * 128);
  CHECK(unfused_forward(k, b).value == Approx((gemms + 9 * scores) / 1e12));
  CHECK(unfused_backward(k, b).value == Approx((2 * gemms + 11 * scores) / 1e12));
  // Scores that stay on chip are worth several times.
  const Kernels a100 = kernels_of("a100-sxm");
  CHECK(unfused_forward(a100, b) / flash_forward(a100, b) > 3);
}

TEST_CASE("decoding reads the cache once", "[kernels]") {
  const Kernels k = kernels_of("h100-sxm");
  const double rate = k.memory_rate.value * k.model.decode_memory.value;
  const AttentionHeads heads = decode_heads(llama_70b(), 4);
  CHECK(heads.heads == 16);
  CHECK(heads.kv_heads == 2);
  CHECK(heads.cached == 2 * 2 * 128);
  const Seconds t = decode_attention(k, heads, 64, 4096, NumberFormat::bf16);
  CHECK(t.value == Approx(64. * 4096 * 512 * 2 / rate).epsilon(0.01));
  CHECK(decode_attention(k, heads, 64, 4096, NumberFormat::fp8).value == Approx(t.value / 2).epsilon(0.02));
  CHECK(decode_attention(k, heads, 128, 4096, NumberFormat::bf16) / t == Approx(2));
  // With keys of its own for every head it is eight times as much.
  Transformer ungrouped = llama_70b();
  ungrouped.kv_heads = 64;
  CHECK(decode_attention(k, decode_heads(ungrouped, 4), 64, 4096, NumberFormat::bf16) / t == Approx(8).epsilon(0.02));
  // More ranks than key heads hold copies.
  CHECK(decode_heads(llama_70b(), 16).kv_heads == 1);
}

TEST_CASE("queries that share keys are the rows of a GEMM, at least 16", "[kernels]") {
  const Kernels k = ideal_kernels();
  const auto seconds = [&](std::int64_t heads, std::int64_t queries) {
    return decode_attention(k, {heads, 2, 128, 128, 512}, 4, 1000, NumberFormat::bf16, queries).value;
  };
  const double of_16 = 4 * 1000. * 2 * 16 * 2 * 256 / 1e14;
  CHECK(seconds(2, 1) == Approx(of_16));
  CHECK(seconds(32, 1) == Approx(of_16));
  CHECK(seconds(34, 1) == Approx(2 * of_16));
  CHECK(seconds(32, 3) == Approx(3 * of_16));
}

TEST_CASE("all latent heads share a small cache", "[kernels]") {
  const AttentionHeads training = training_heads(deepseek_v3(), 1), decode = decode_heads(deepseek_v3(), 1);
  CHECK(training.key_dim == 192);
  CHECK(training.value_dim == 128);
  CHECK(training.kv_heads == 128);
  CHECK(decode.kv_heads == 1);
  CHECK(decode.key_dim == 576);
  CHECK(decode.value_dim == 512);
  CHECK(decode.cached == 576);
  CHECK(training.cached == 576);
  // 128 heads do 2 x 128 x 1088 operations on 1152 B of a token: more than an H20 keeps up with, unlike an H200.
  const auto bound_by_memory = [&](const char* gpu) {
    const Kernels k = kernels_of(gpu);
    const double bytes = 32. * (8192 * 1152. + 2 * 128 * 1088.);
    const double t = decode_attention(k, decode, 32, 8192, NumberFormat::bf16).value;
    return t <= 1.001 * bytes / (k.memory_rate.value * k.model.decode_memory.value);
  };
  CHECK_FALSE(bound_by_memory("h20"));
  Kernels slow = kernels_of("h200-sxm");
  slow.memory_rate = BytesPerSecond{1e12};
  const double bytes = 32. * (8192 * 1152. + 2 * 128 * 1088.);
  CHECK(decode_attention(slow, decode, 32, 8192, NumberFormat::bf16).value ==
        Approx(bytes / (1e12 * slow.model.decode_memory.value)));
}

TEST_CASE("attention stays below the data sheet and never gets faster as a size grows", "[kernels]") {
  Rng rng(5);
  const char* gpus[] = {"v100-sxm", "a100-sxm", "h100-sxm", "h20", "b200", "l4"};
  using Kernel = Seconds (*)(const Kernels&, const AttentionBlock&);
  const std::pair<Kernel, double> kernels[] = {
      {flash_forward, 1}, {flash_backward, 2.5}, {unfused_forward, 1}, {unfused_backward, 2}};
  for (int i = 0; i < 3000; ++i) {
    const Kernels k = kernels_of(gpus[rng.below(6)]);
    const auto sample = [&](double most) {
      return static_cast<std::int64_t>(std::exp(rng.uniform(0, std::log(most))));
    };
    AttentionBlock b;
    b.heads.kv_heads = sample(16), b.heads.heads = b.heads.kv_heads * sample(16);
    b.heads.key_dim = sample(256), b.heads.value_dim = sample(256), b.sequences = sample(64);
    b.queries = sample(32768), b.keys = sample(32768), b.causal = rng.below(2);
    if (rng.below(3) == 0) b.window = sample(40000);
    const auto& sampled = kernels[rng.below(4)];
    const Kernel kernel = sampled.first;
    const double factor = sampled.second;
    const double seconds = kernel(k, b).value;
    INFO(k.gpu << " " << b.heads.heads << "/" << b.heads.kv_heads << " heads of " << b.heads.key_dim << ", "
               << b.queries << " x " << b.keys << ", window " << b.window << (b.causal ? ", causal" : ""));
    REQUIRE((std::isfinite(seconds) && seconds > 0));
    const double flops = factor * 2 * attended(b) * static_cast<double>(b.sequences * b.heads.heads) *
                         static_cast<double>(b.heads.key_dim + b.heads.value_dim);
    REQUIRE(flops / seconds <= k.peak[2] * (1 + 1e-12));
    const auto grow = [&](std::int64_t AttentionBlock::*size) {
      AttentionBlock larger = b;
      larger.*size += static_cast<std::int64_t>(1 + rng.below(1000));
      REQUIRE(kernel(k, larger).value >= seconds * (1 - 1e-12));
    };
    grow(&AttentionBlock::sequences), grow(&AttentionBlock::queries);
    grow(&AttentionBlock::keys);
    if (b.window > 0) grow(&AttentionBlock::window);
    // Without fusion, a head off the width that tensor cores load is compared with the next one that is off by as much.
    const bool unfused = kernel == unfused_forward || kernel == unfused_backward;
    AttentionBlock wider = b;
    wider.heads.key_dim += unfused && b.heads.key_dim % 8 != 0 ? 8 : 1;
    REQUIRE(kernel(k, wider).value >= seconds * (1 - 1e-12));
    const std::int64_t queries = 1 + static_cast<std::int64_t>(rng.below(4));
    const Seconds decode = decode_attention(k, decode_heads(llama_70b(), 8), b.sequences, b.keys, NumberFormat::fp16);
    REQUIRE(decode_attention(k, decode_heads(llama_70b(), 8), b.sequences, b.keys + 1, NumberFormat::fp16, queries) >=
            decode);
  }
}

TEST_CASE("attention of size 0 takes no time", "[kernels]") {
  const Kernels k = kernels_of("h100-sxm");
  AttentionBlock none = square(0);
  CHECK(flash_forward(k, none) == Seconds{0});
  CHECK(flash_backward(k, none) == Seconds{0});
  CHECK(unfused_forward(k, none) == Seconds{0});
  AttentionBlock headless = square(128);
  headless.heads.heads = 0;
  CHECK(flash_forward(k, headless) == Seconds{0});
  CHECK(decode_attention(k, decode_heads(llama_70b(), 8), 8, 0, NumberFormat::bf16) == Seconds{0});
  CHECK_THROWS_AS(flash_forward(k, square(-1)), InternalError);
}

}  // namespace
}  // namespace fabricast
