// All-reduces by an engine's own kernel: bytes over a rate by hand, and kernels that others measured.
#include "fabricast/workload/own_all_reduce.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/workload/inference_spec.hpp"

namespace fabricast {
namespace {

OwnAllReduce kernel_of(const char* preset, const char* engine) {
  const Hardware& hardware = shipped_hardware();
  return own_all_reduce(hardware.serving_stack(engine), default_node(hardware, {}, preset), 1, hardware);
}

TEST_CASE("an own all-reduce reads the data of the others in one or two shots", "[inference]") {
  OwnAllReduce k;
  k.ranks = 8;
  k.start = Seconds{3e-6};
  k.hop = Seconds{1e-6};
  k.rate = BytesPerSecond{100e9};
  // 7 x 1 MB at 100 GB/s are 70 us; in two parts 2 x 7 / 8 MB are 17.5 us.
  CHECK(one_shot(k, 8, Bytes{1'000'000}).value == Approx(75e-6));
  CHECK(two_shot(k, 8, Bytes{1'000'000}).value == Approx(24.5e-6));
  CHECK(all_reduce_seconds(k, 8, Bytes{1'000'000}) == two_shot(k, 8, Bytes{1'000'000}));
  CHECK(all_reduce_seconds(k, 8, Bytes{8}) == one_shot(k, 8, Bytes{8}));
  // Two ranks read as much either way.
  for (const std::int64_t bytes : {8, 8192, 8388608})
    CHECK(all_reduce_seconds(k, 2, Bytes{bytes}) == one_shot(k, 2, Bytes{bytes}));
}

TEST_CASE("an own all-reduce never gets shorter with bytes or ranks", "[inference]") {
  const OwnAllReduce k = kernel_of("hgx-h100", "vllm-0.11");
  for (int ranks = 2; ranks <= 8; ++ranks)
    for (std::int64_t bytes = 8; bytes <= largest_own_all_reduce.value; bytes *= 2) {
      CAPTURE(ranks, bytes);
      CHECK(all_reduce_seconds(k, ranks, Bytes{2 * bytes}) >= all_reduce_seconds(k, ranks, Bytes{bytes}));
      if (ranks > 2)
        CHECK(all_reduce_seconds(k, ranks, Bytes{bytes}) >= all_reduce_seconds(k, ranks - 1, Bytes{bytes}));
    }
}

TEST_CASE("an own all-reduce needs NVLink and small messages", "[inference]") {
  const OwnAllReduce k = kernel_of("hgx-h100", "vllm-0.11");
  CHECK(runs_own(k, 8, largest_own_all_reduce));
  CHECK_FALSE(runs_own(k, 8, largest_own_all_reduce + Bytes{1}));
  CHECK_FALSE(runs_own(k, 16, Bytes{8}));
  CHECK_FALSE(runs_own(k, 1, Bytes{8}));
  const Hardware& hardware = shipped_hardware();
  const ServingStack engine = hardware.serving_stack("vllm-0.11");
  CHECK(own_all_reduce(engine, default_node(hardware, "l40s", {}), 1, hardware).ranks == 1);
  CHECK(own_all_reduce(engine, default_node(hardware, {}, "gb200-nvl72"), 18, hardware).ranks == 72);
  // Its engine calls NCCL.
  CHECK(kernel_of("dgx-a100", "fastertransformer-5").ranks == 1);
}

// Kernels in CUDA graphs [serving-measurements], us: at 8 KiB the start, at 1 MiB what is read.
TEST_CASE("own all-reduces agree with measurements", "[inference]") {
  struct Measured {
    const char *node, *engine;
    int ranks;
    double small, large;
  };
  for (const Measured& m :
       {Measured{"dgx-a100", "vllm-0.11", 2, 5.29, 10.7}, Measured{"dgx-a100", "vllm-0.11", 8, 6.32, 21.7},
        Measured{"hgx-h100", "vllm-0.11", 2, 4.42, 8.39}, Measured{"hgx-h100", "vllm-0.11", 8, 4.94, 17.3},
        Measured{"hgx-h100", "tensorrt-llm-1.0", 2, 2.8, 6.16}, Measured{"hgx-b200", "vllm-0.11", 2, 6.98, 13.1},
        Measured{"hgx-b200", "tensorrt-llm-1.0", 8, 5.6, 17.5}}) {
    CAPTURE(m.node, m.engine, m.ranks);
    const OwnAllReduce k = kernel_of(m.node, m.engine);
    CHECK(all_reduce_seconds(k, m.ranks, Bytes{8192}).value * 1e6 == Approx(m.small).epsilon(0.35));
    CHECK(all_reduce_seconds(k, m.ranks, Bytes{1 << 20}).value * 1e6 == Approx(m.large).epsilon(0.45));
  }
}

}  // namespace
}  // namespace fabricast
