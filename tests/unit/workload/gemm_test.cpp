// GEMMs and streams: closed forms, worked examples, and times that never decrease as a size grows.
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"
#include "support/ideal_kernels.hpp"

namespace fabricast {
namespace {

using test::ideal_kernels;
using test::kernels_of;

double us(Seconds t) { return microseconds(t); }

TEST_CASE("a GEMM that fills its waves runs at the peak", "[kernels]") {
  // 1280 x 1280: 50 tiles of 256 x 128 on 100 SMs, so two share the terms of each tile.
  const Kernels k = ideal_kernels();
  CHECK(us(gemm(k, 1280, 1280, 1024, Precision::fp16)) == Approx(2. * 1280 * 1280 * 1024 / 1e14 * 1e6));
  // 2560 x 1280: 100 tiles, one wave.
  CHECK(us(gemm(k, 2560, 1280, 4096, Precision::fp16)) == Approx(2. * 2560 * 1280 * 4096 / 1e14 * 1e6));
}

TEST_CASE("tiles and waves match a calculation by hand", "[kernels]") {
  // 1408 = 11 x 128, k = 1024, 1 TFLOP/s for each of 100 SMs; in us:
  //   256x128: 6 x 11 =  66 tiles, 1 wave  of 67.11           =  67.11
  //   256x64:  6 x 22 = 132 tiles, 2 waves of 33.55 at 0.85   =  78.95
  //   128x128: 11 x 11 = 121 tiles, 2 waves of 33.55 at 0.90  =  74.57
  //   128x64:  11 x 22 = 242 tiles, 3 waves of 16.78 at 0.72  =  69.91
  //   64x64:   22 x 22 = 484 tiles, 5 waves of 8.39 at 0.50   =  83.89
  CHECK(us(gemm(ideal_kernels(), 1408, 1408, 1024, Precision::fp16)) == Approx(67.108864));
  // One row of tiles more, and 77 tiles of 256x128 are still one wave; with 18 rows 99 tiles, with 19 a second wave.
  CHECK(us(gemm(ideal_kernels(), 2304, 1408, 1024, Precision::fp16)) == Approx(67.108864));
  CHECK(us(gemm(ideal_kernels(), 2305, 1408, 1024, Precision::fp16)) > 75);
}

TEST_CASE("each precision reaches its own fraction of its own peak", "[kernels]") {
  Kernels k = ideal_kernels();
  k.peak = {1e12, 2e12, 3e12, 4e12, 5e12, 6e12};
  k.model.gemm_16.value = 0.5, k.model.gemm_8.value = 0.25, k.model.gemm_4.value = 0.125;
  CHECK(k.gemm_rate(Precision::fp32) == 0.5e12);
  CHECK(k.gemm_rate(Precision::tf32) == 1e12);
  CHECK(k.gemm_rate(Precision::fp16) == 1.5e12);
  CHECK(k.gemm_rate(Precision::bf16) == 2e12);
  CHECK(k.gemm_rate(Precision::fp8) == 1.25e12);
  CHECK(k.gemm_rate(Precision::fp4) == 0.75e12);
  k.peak[static_cast<std::size_t>(Precision::bf16)] = 0;
  CHECK(k.gemm_rate(Precision::bf16) == k.gemm_rate(Precision::fp16));
}

TEST_CASE("a GEMM reaches half its rate at K = gemm_depth", "[kernels]") {
  Kernels k = ideal_kernels();
  k.model.gemm_depth.value = 200;
  const double flat = 2. * 25600 * 12800 / 1e14;
  CHECK(gemm(k, 25600, 12800, 200, Precision::fp16).value == Approx(2 * flat * 200));
  CHECK(gemm(k, 25600, 12800, 1800, Precision::fp16).value == Approx(flat * 2000));
}

TEST_CASE("the depth of a GEMM is a time: twice the rate, twice the terms", "[kernels]") {
  Kernels k = ideal_kernels();
  k.model.gemm_depth.value = 200;
  k.peak[static_cast<std::size_t>(Precision::fp8)] = 2e14;
  k.peak[static_cast<std::size_t>(Precision::tf32)] = 5e13;
  const double flops = 2. * 25600 * 12800;
  CHECK(gemm(k, 25600, 12800, 1800, Precision::fp8).value == Approx(flops * 2200 / 2e14));
  CHECK(gemm(k, 25600, 12800, 1800, Precision::tf32).value == Approx(flops * 1900 / 5e13));
}

TEST_CASE("grouped GEMMs reach a fraction of the rate of one", "[kernels]") {
  // 4 GEMMs of 25 tiles of 256 x 128 each: one wave.
  Kernels k = ideal_kernels();
  k.model.grouped.value = 0.8;
  const double flops = 2. * 1280 * 640 * 1024 * 4;
  CHECK(gemm(k, 1280, 640, 1024, Precision::fp16, 4).value == Approx(flops / 1e14 / 0.8));
  // Bound by memory they take what their operands take.
  k.memory_rate = BytesPerSecond{1e9};
  CHECK(gemm(k, 64, 64, 64, Precision::fp16, 4).value == Approx(4 * 3 * 2 * 64. * 64 / 1e9));
}

TEST_CASE("a limit of grouped GEMMs slows large tiles, but not those that are slower anyway", "[kernels]") {
  Kernels k = ideal_kernels();
  k.model.grouped.value = 0.8, k.grouped_limit = 0.5;
  const double flops = 2. * 1280 * 640 * 1024 * 4;
  CHECK(gemm(k, 1280, 640, 1024, Precision::fp16, 4).value == Approx(flops / 1e14 / 0.8 / 0.5));
  // Four times 25 tiles of 16 x 128, which have half the rate of the largest.
  const double few = gemm(k, 16, 3200, 4096, Precision::fp16, 4).value;
  CHECK(few == Approx(2. * 16 * 3200 * 4096 * 4 / 1e14 / 0.8 / 0.5));
  k.grouped_limit = 1;
  CHECK(gemm(k, 16, 3200, 4096, Precision::fp16, 4).value == Approx(few));
  // A single GEMM is not grouped.
  k.grouped_limit = 0.5;
  CHECK(gemm(k, 25600, 12800, 1800, Precision::fp16).value ==
        gemm(ideal_kernels(), 25600, 12800, 1800, Precision::fp16).value);
}

TEST_CASE("few rows use the smallest tiles", "[kernels]") {
  // 100 tiles of 16 x 128 at half the rate; of 32 x 128 at 0.6 it were 56 us.
  CHECK(us(gemm(ideal_kernels(), 16, 12800, 4096, Precision::fp16)) == Approx(33.554432));
  CHECK(us(gemm(ideal_kernels(), 12800, 16, 4096, Precision::fp16)) == Approx(33.554432));
}

TEST_CASE("bytes of a memory-bound GEMM", "[kernels]") {
  Kernels k = ideal_kernels();
  k.memory_rate = BytesPerSecond{1e9};
  // 4096 x 2048 results, sums of 64 terms.
  const double operands = 4096 * 64 + 64 * 2048, results = 4096 * 2048;
  CHECK(gemm(k, 4096, 2048, 64, Precision::bf16).value == Approx((2 * operands + 2 * results) / 1e9));
  CHECK(gemm(k, 4096, 2048, 64, Precision::tf32).value == Approx((4 * operands + 4 * results) / 1e9));
  CHECK(gemm(k, 4096, 2048, 64, Precision::fp8).value == Approx((operands + 2 * results) / 1e9));
  CHECK(gemm(k, 4096, 2048, 64, Precision::fp4).value == Approx((operands * 9 / 16 + 2 * results) / 1e9));
  // Only weights are integers: one byte each, or half of one and 4 bytes for 128 of them.
  const double left = 4096 * 64, weights = 64 * 2048;
  const auto with = [&](NumberFormat f) { return gemm(k, 4096, 2048, 64, Precision::bf16, 1, f).value; };
  CHECK(with(NumberFormat::int8) == Approx((2 * left + weights + 2 * results) / 1e9));
  CHECK(with(NumberFormat::int4) == Approx((2 * left + weights / 2 + weights / 128 * 4 + 2 * results) / 1e9));
}

/// The study's formula, written another way: the time of the peak, times what quantisation costs. No memory.
double study_seconds(const Kernels& k, double m, double n, double depth) {
  const double tiles[][3] = {{256, 128, 1},   {128, 256, 1},   {128, 128, 0.9}, {256, 64, 0.85},
                             {64, 256, 0.85}, {128, 64, 0.72}, {64, 64, 0.5}};
  double q = 1e300;
  for (const auto& [rows, columns, efficiency] : tiles) {
    const double waves = std::ceil(std::ceil(m / rows) * std::ceil(n / columns) / k.multiprocessors);
    q = std::min(q, waves * k.multiprocessors * rows * columns / (m * n * efficiency));
  }
  const double at_depth = depth / (depth + k.model.gemm_depth.value);
  return 2 * m * n * depth * q / (k.gemm_rate(Precision::bf16) * at_depth);
}

TEST_CASE("large GEMMs follow the study's equation [steptime-study-2]", "[kernels]") {
  Kernels k = kernels_of("a100-sxm");
  k.memory_rate.value = 1e30;
  // Linear layers of a 175B model split eight ways, forward, and of a small one.
  for (const auto& [m, n, d] : {std::tuple{2048, 4608, 12288},
                                {2048, 12288, 1536},
                                {2048, 6144, 12288},
                                {2048, 12288, 6144},
                                {8192, 3072, 768},
                                {4096, 50304, 1024}})
    CHECK(gemm(k, m, n, d, Precision::bf16).value == Approx(study_seconds(k, m, n, d)));
}

TEST_CASE("a GEMM with few rows takes the time to read its weights once", "[kernels]") {
  for (const char* gpu : {"a100-sxm", "h100-sxm", "h200-sxm", "b200", "l4", "l40s", "rtx4090"}) {
    const Kernels k = kernels_of(gpu);
    for (const std::int64_t m : {1, 8, 16}) {
      INFO(gpu << " " << m);
      const double bytes = 2. * 8192 * 28672, rate = k.memory_rate.value * k.model.gemm_memory.value;
      const double seconds = gemm(k, m, 28672, 8192, Precision::fp16).value;
      CHECK(seconds >= bytes / rate);
      CHECK(seconds <= 1.05 * bytes / rate);
      // Rows that are as few cost nothing more, and fp8 half.
      if (k.has(Precision::fp8)) CHECK(gemm(k, m, 28672, 8192, Precision::fp8).value < 0.55 * seconds);
    }
  }
  // A narrow slice, as of a layer split eight ways: blocks share the terms.
  const Kernels h100 = kernels_of("h100-sxm");
  const double slice = 2. * 8192 * 1280 / (h100.memory_rate.value * h100.model.gemm_memory.value);
  CHECK(gemm(h100, 4, 1280, 8192, Precision::bf16).value < 1.5 * slice);
}

TEST_CASE("grouped GEMMs fill the GPU together", "[kernels]") {
  const Kernels k = kernels_of("h100-sxm");
  const Seconds one = gemm(k, 64, 2048, 7168, Precision::bf16), many = gemm(k, 64, 2048, 7168, Precision::bf16, 32);
  CHECK(many > one);
  CHECK(many.value < 32 * one.value);
  // 32 experts of few tokens are bound by their weights.
  const double weights = 32. * 2 * 2048 * 7168 / (k.memory_rate.value * k.model.gemm_memory.value);
  CHECK(many.value == Approx(weights).epsilon(0.1));
}

TEST_CASE("GEMMs stay below the data sheet and never get faster as a size grows", "[kernels]") {
  Rng rng(11);
  const char* gpus[] = {"v100-sxm", "a100-sxm", "h100-sxm", "h20", "b300", "l4", "gb10"};
  for (int i = 0; i < 3000; ++i) {
    const Kernels k = kernels_of(gpus[rng.below(7)]);
    const auto sample = [&](double most) {
      return static_cast<std::int64_t>(std::exp(rng.uniform(0, std::log(most))));
    };
    const std::int64_t size[4] = {sample(20000), sample(60000), sample(60000), sample(64)};
    const Precision p = k.has(Precision::fp8) && rng.below(2) ? Precision::fp8 : Precision::fp16;
    const auto time = [&](const std::int64_t(&s)[4]) { return gemm(k, s[0], s[1], s[2], p, s[3]).value; };
    const double seconds = time(size);
    INFO(k.gpu << " " << size[0] << " " << size[1] << " " << size[2] << " x" << size[3] << " " << name_of(p));
    const double m = static_cast<double>(size[0]), n = static_cast<double>(size[1]), d = static_cast<double>(size[2]),
                 count = static_cast<double>(size[3]);
    REQUIRE(std::isfinite(seconds));
    REQUIRE(2 * m * n * d * count / seconds <= k.peak[static_cast<std::size_t>(p)] * (1 + 1e-12));
    REQUIRE(count * bytes_of(p) * (m * d + d * n) / seconds <= k.memory_rate.value);
    for (std::size_t grown = 0; grown < 4; ++grown) {
      std::int64_t larger[4] = {size[0], size[1], size[2], size[3]};
      larger[grown] += static_cast<std::int64_t>(rng.below(2) ? 1 : 1 + rng.below(2000));
      REQUIRE(time(larger) >= seconds * (1 - 1e-12));
    }
  }
}

TEST_CASE("size 0 takes no time, and negative sizes are refused", "[kernels]") {
  const Kernels k = kernels_of("h100-sxm");
  CHECK(gemm(k, 0, 4096, 4096, Precision::bf16) == Seconds{0});
  CHECK(gemm(k, 4096, 0, 4096, Precision::bf16) == Seconds{0});
  CHECK(gemm(k, 4096, 4096, 0, Precision::bf16) == Seconds{0});
  CHECK(gemm(k, 4096, 4096, 4096, Precision::bf16, 0) == Seconds{0});
  CHECK(stream(k, Bytes{0}) == Seconds{0});
  CHECK_THROWS_AS(gemm(k, -1, 4096, 4096, Precision::bf16), InternalError);
  CHECK_THROWS_AS(stream(k, Bytes{-1}), InternalError);
  CHECK_THROWS_AS(gemm(k, 1, 1, 1, Precision::fp4), InternalError);
}

TEST_CASE("arithmetic scales with the power limit, memory does not", "[kernels]") {
  const Kernels at_700 = kernels_of("h100-sxm");
  NodeSpec spec = default_node(shipped_hardware(), "h100-sxm", {});
  spec.power = Watts{500};
  const Kernels at_500 = resolve_kernels(spec, shipped_hardware());
  const double loss = std::pow(5. / 7, at_700.model.power_exponent.value);
  CHECK(loss > 0.8);
  CHECK(loss < 0.94);  // [steptime-study-8.1]: 8 to 12 %
  const auto large = [](const Kernels& k) { return gemm(k, 8192, 8192, 8192, Precision::bf16); };
  CHECK(large(at_700) / large(at_500) == Approx(loss));
  CHECK(at_700.gemm_rate(Precision::fp8) * loss == Approx(at_500.gemm_rate(Precision::fp8)));
  const auto small = [](const Kernels& k) { return gemm(k, 1, 8192, 8192, Precision::bf16); };
  CHECK(small(at_700) == small(at_500));
  CHECK(stream(at_700, Bytes{1 << 30}) == stream(at_500, Bytes{1 << 30}));
  // Power without end does not make a GPU faster than its data sheet.
  spec.power = Watts{100000};
  CHECK(resolve_kernels(spec, shipped_hardware()).gemm_rate(Precision::bf16) == at_700.peak[3]);
}

TEST_CASE("a node may override memory and its bandwidth", "[kernels]") {
  NodeSpec spec = default_node(shipped_hardware(), "a100-sxm", {});
  spec.memory = Bytes{std::int64_t{40} << 30}, spec.memory_rate = BytesPerSecond{1555e9};
  const Kernels k = resolve_kernels(spec, shipped_hardware());
  CHECK(k.memory == spec.memory);
  CHECK(stream(k, Bytes{1'555'000'000}).value == Approx(1e-3 / k.model.stream.value));
  CHECK(optimizer(k, Bytes{1'555'000'000}).value == Approx(1e-3 / k.model.optimizer_stream.value));
  CHECK(copy(k, Bytes{1'555'000'000}).value == Approx(2e-3 / k.model.stream.value));
  CHECK(us(k.kernel_gap()) == Approx(k.model.kernel_gap.value));
}

TEST_CASE("a precision that a GPU does not support is a user error", "[kernels]") {
  const Kernels k = kernels_of("a100-sxm");
  CHECK_NOTHROW(check_precision(k, Precision::bf16, "workload.precision"));
  try {
    check_precision(k, Precision::fp8, "workload.precision");
    FAIL("taken");
  } catch (const UserError& e) {
    CHECK(e.diagnostics()[0].path == "workload.precision");
    CHECK(e.diagnostics()[0].message == "a100-sxm does not support fp8");
    CHECK(e.diagnostics()[0].hint == "it supports fp32, tf32, fp16, bf16");
  }
}

template <class T>
concept streamable = requires(const Kernels& k, T t) {
  stream(k, t);
};

TEST_CASE("stream kernels depend only on bytes", "[kernels]") {
  STATIC_REQUIRE(streamable<Bytes>);
  STATIC_REQUIRE_FALSE(streamable<Seconds>);
  STATIC_REQUIRE_FALSE(streamable<BytesPerSecond>);
  STATIC_REQUIRE_FALSE(streamable<double>);
}

}  // namespace
}  // namespace fabricast
