// Kernels that others measured against what is forecast of them (tests/data/kernels/README.md). Parameters were fitted to
// samples of the same tables, so this holds the form of the model to them, and every later change of a parameter.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "fabricast/calibrate/steps.hpp"

using namespace fabricast;

namespace {

const std::vector<StepCase>& measured() {
  static const std::vector<StepCase> cases = read_steps(FABRICAST_SOURCE_DIR "/tests/data/kernels/measured.json");
  return cases;
}

double median(std::vector<double> list) {
  const auto middle = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
  std::nth_element(list.begin(), middle, list.end());
  return *middle;
}

/// ln of forecast over measured, of the cases that are wanted.
template <class Wanted>
std::vector<double> errors(Wanted wanted) {
  std::vector<double> list;
  for (const StepCase& c : measured())
    if (wanted(c.kernel)) list.push_back(std::log(kernel_seconds(c.kernel, shipped_hardware()) / c.seconds));
  return list;
}

template <class Wanted>
double median_size(Wanted wanted) {
  std::vector<double> list = errors(wanted);
  REQUIRE(list.size() >= 3);
  for (double& e : list) e = std::abs(e);
  return median(list);
}

std::set<std::string> gpus() {
  std::set<std::string> names;
  for (const StepCase& c : measured()) names.insert(c.kernel.gpu);
  return names;
}

bool is_gemm(const KernelCase& k, Precision p) { return k.kind == KernelKind::gemm && k.precision == p; }

}  // namespace

TEST_CASE("products of 16 bits, from one row to thousands, by GPU") {
  CHECK(gpus().size() == 9);
  for (const std::string& gpu : gpus()) {
    INFO(gpu);
    const auto with_rows = [&](std::int64_t least, std::int64_t most) {
      return median_size([&](const KernelCase& k) {
        return k.gpu == gpu && is_gemm(k, Precision::bf16) && k.short_loop && k.m >= least && k.m <= most;
      });
    };
    CHECK(with_rows(1, 64) < 0.16);
    CHECK(with_rows(128, 512) < 0.3);
    CHECK(with_rows(1024, 8192) < 0.15);
  }
}

TEST_CASE("products of all GPUs are not off to one side") {
  for (const Precision p : {Precision::bf16, Precision::fp8, Precision::fp4}) {
    INFO(name_of(p));
    const std::vector<double> list = errors([&](const KernelCase& k) { return is_gemm(k, p) && k.short_loop; });
    REQUIRE(list.size() >= 8);
    // Casts are in the times of 8 and 4 bits.
    CHECK(std::abs(median(list)) < (p == Precision::bf16 ? 0.06 : 0.2));
  }
}

TEST_CASE("a loop that lasts is slower than a short one, by the power limit") {
  const auto lasts = [](Precision p) { return [p](const KernelCase& k) { return is_gemm(k, p) && !k.short_loop; }; };
  CHECK(median_size(lasts(Precision::bf16)) < 0.15);
  CHECK(median_size(lasts(Precision::fp8)) < 0.2);
  const KernelCase text = kernel_case(R"({"gpu": "h100-sxm", "m": 8192, "n": 8192, "k": 8192})");
  KernelCase brief = text;
  brief.short_loop = true;
  const double burst = shipped_hardware().compute_model("hopper").burst.value;
  CHECK(burst > 1.1);
  CHECK(kernel_seconds(text, shipped_hardware()) / kernel_seconds(brief, shipped_hardware()) == Approx(burst));
}

TEST_CASE("the gap to the next kernel is in the time where it was timed with it") {
  const auto seconds = [](const char* text) { return kernel_seconds(kernel_case(text), shipped_hardware()); };
  const double gap = shipped_hardware().compute_model("hopper").kernel_gap.value;
  CHECK(seconds(R"({"gpu": "h100-sxm", "kind": "stream", "bytes": 4096, "gap": true})") -
            seconds(R"({"gpu": "h100-sxm", "kind": "stream", "bytes": 4096})") ==
        Approx(gap * 1e-6));
  CHECK_THROWS_AS(kernel_case(R"({"gpu": "h100-sxm", "kind": "stream", "bytes": 4096, "gap": 1})"), std::exception);
}

TEST_CASE("decode attention reads its cache at the memory's rate") {
  for (const std::string& gpu : gpus()) {
    INFO(gpu);
    CHECK(median_size([&](const KernelCase& k) { return k.gpu == gpu && k.kind == KernelKind::decode_attention; }) <
          (gpu == "a100-sxm" ? 0.35 : 0.25));
  }
}

TEST_CASE("fused attention of long prompts") {
  for (const std::string& gpu : gpus()) {
    // Steps of training are on older kernels than those of Hopper in the tables, and its parameter is theirs.
    if (shipped_hardware().gpus.find(gpu)->second.architecture == "hopper") continue;
    INFO(gpu);
    CHECK(median_size([&](const KernelCase& k) { return k.gpu == gpu && k.kind == KernelKind::flash_forward; }) <
          (gpu == "gb200" ? 0.4 : 0.33));
  }
}
