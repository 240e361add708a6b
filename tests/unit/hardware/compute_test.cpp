// Data sheets and what kernels reach of them.
#include <catch2/catch.hpp>

#include <set>

#include "fabricast/core/error.hpp"
#include "fabricast/hardware/node.hpp"

namespace fabricast {
namespace {

const GpuSheet& sheet(std::string_view gpu) { return shipped_hardware().gpus.find(gpu)->second.sheet; }

/// Products of fp16 with sums in fp32 that a multiprocessor finishes in a clock, as the architecture papers have it, in
/// floating-point operations. GeForce has half of what the professional boards of its chip have, as have some boards for
/// graphics in data centres.
double per_clock(const GpuKind& gpu) {
  const std::set<std::string_view> graphics = {"a10g", "l20", "l40"};
  const bool half = gpu.summary.starts_with("GeForce") || graphics.contains(gpu.name);
  switch (gpu.compute_capability) {
    case 70: return 1024;
    case 80: return 2048;
    case 90: return 4096;
    case 100:
    case 103: return 8192;
    default: return half ? 512 : 1024;
  }
}

TEST_CASE("every GPU has a data sheet that fits its architecture", "[hardware]") {
  for (const auto& [name, gpu] : shipped_hardware().gpus) {
    INFO(name);
    const GpuSheet& s = gpu.sheet;
    const auto peak = [&](Precision p) { return s.peak_of(p); };
    CHECK((s.source.find('[') != std::string::npos || s.source.starts_with("guess")));
    CHECK((s.multiprocessors >= 10 && s.multiprocessors <= 192));
    CHECK((s.memory.value >= std::int64_t{10'000'000'000} && s.memory.value <= std::int64_t{400'000'000'000}));
    CHECK((s.memory_rate.value >= 200e9 && s.memory_rate.value <= 8e12));
    CHECK((s.power.value >= 60 && s.power.value <= 1500));
    // Which precisions there are is the generation's.
    CHECK((peak(Precision::fp16) > 0 && peak(Precision::fp32) > 0));
    CHECK((peak(Precision::bf16) > 0) == (gpu.compute_capability >= 80));
    CHECK((peak(Precision::tf32) > 0) == (gpu.compute_capability >= 80));
    CHECK((peak(Precision::fp8) > 0) == (gpu.compute_capability >= 89));
    CHECK((peak(Precision::fp4) > 0) == (gpu.compute_capability >= 100));
    // Half the bits, twice the rate.
    if (peak(Precision::bf16) > 0) CHECK(peak(Precision::bf16) == peak(Precision::fp16));
    if (peak(Precision::tf32) > 0) CHECK(peak(Precision::fp16) == Approx(2 * peak(Precision::tf32)).epsilon(0.02));
    if (peak(Precision::fp8) > 0) CHECK(peak(Precision::fp8) == Approx(2 * peak(Precision::fp16)).epsilon(0.02));
    if (peak(Precision::fp4) > 0) CHECK(peak(Precision::fp4) >= 1.98 * peak(Precision::fp8));
    // The clock that the peak implies is one that there is. H20's is cut.
    const double clock = peak(Precision::fp16) / s.multiprocessors / per_clock(gpu);
    CHECK(clock < 2.7e9);
    CHECK(clock > (name == "h20" ? 0.4e9 : 1.3e9));
  }
}

TEST_CASE("generations are ordered", "[hardware]") {
  const char* order[] = {"v100-sxm", "a100-sxm", "h100-sxm", "b200"};
  for (int i = 0; i + 1 < 4; ++i) {
    INFO(order[i]);
    CHECK(sheet(order[i]).peak_of(Precision::fp16) < sheet(order[i + 1]).peak_of(Precision::fp16));
    CHECK(sheet(order[i]).memory_rate < sheet(order[i + 1]).memory_rate);
    CHECK(sheet(order[i]).multiprocessors < sheet(order[i + 1]).multiprocessors);
    CHECK(sheet(order[i]).power < sheet(order[i + 1]).power);
  }
  CHECK(sheet("h200-sxm").peak == sheet("h100-sxm").peak);
  CHECK(sheet("h200-sxm").memory > sheet("h100-sxm").memory);
  CHECK(sheet("h800-sxm").peak == sheet("h100-sxm").peak);
  CHECK(sheet("h20").peak_of(Precision::bf16) < 0.2 * sheet("h100-sxm").peak_of(Precision::bf16));
  CHECK(sheet("h20").memory_rate > sheet("h100-sxm").memory_rate);
  CHECK(sheet("a100-sxm").peak_of(Precision::bf16) == 312e12);
  CHECK(sheet("a100-sxm").memory_rate == BytesPerSecond{2039e9});
}

TEST_CASE("fractions of compute models lie between 0 and 1", "[hardware]") {
  Hardware h = shipped_hardware();
  int shares = 0;
  for (const auto& [path, ref] : h.all_parameters()) {
    if (!ref.share) continue;
    INFO(path);
    const bool of_stack =
        path.starts_with("stacks.") && (path.ends_with("_exposed") || path.ends_with(".context_imbalance"));
    CHECK((path.starts_with("compute.") || path.starts_with("serving.") || of_stack));
    CHECK((ref.parameter->low > 0 && ref.parameter->high <= 1));
    ++shares;
  }
  CHECK(shares > 40);
  for (const auto& [name, gpu] : h.gpus) {
    INFO(name);
    const ComputeModel model = h.compute_model(gpu.compute);
    // A precision that a GPU has is one that something is known of.
    if (gpu.sheet.peak_of(Precision::fp8) > 0) CHECK(model.gemm_8.source != "none");
    if (gpu.sheet.peak_of(Precision::fp4) > 0) CHECK(model.gemm_4.source != "none");
  }
}

TEST_CASE("a kind of GPU inherits the compute model of its architecture", "[hardware]") {
  Hardware h = prior_hardware();
  CHECK(h.gpus.find("h100-pcie")->second.compute == "hopper");
  CHECK(h.gpus.find("h20")->second.compute == "h20");
  CHECK(h.compute_model("h20").gemm_16.value > h.compute_model("hopper").gemm_16.value);
  h.find("compute.hopper.stream")->value = 0.5;
  CHECK(h.compute_model("h20").stream.value == 0.5);
  const auto listed = [&](std::string_view path) {
    for (const auto& [name, ref] : h.all_parameters())
      if (name == path) return true;
    return false;
  };
  CHECK(listed("compute.hopper.stream"));
  CHECK_FALSE(listed("compute.h20.stream"));
  h.own("compute.h20");
  CHECK(listed("compute.h20.stream"));
  h.find("compute.hopper.stream")->value = 0.6;
  CHECK(h.compute_model("h20").stream.value == 0.5);
}

TEST_CASE("profiles may contain compute parameters", "[hardware]") {
  Hardware h = shipped_hardware();
  overlay_profile(h, R"({"compute": {"hopper": {"gemm_16": {"value": 0.7, "low": 0.65, "high": 0.75}},
                                     "h20": {"stream": {"value": 0.9}}}})",
                  "p.json");
  CHECK(h.compute_model("hopper").gemm_16.value == 0.7);
  CHECK(h.compute_model("h20").stream.value == 0.9);
  CHECK(h.compute_model("hopper").stream.value == shipped_hardware().compute_model("hopper").stream.value);
  const auto refused = [&](const std::string& body) -> std::string {
    try {
      overlay_profile(h, "{\"compute\": " + body + "}", "p.json");
    } catch (const UserError& e) { return e.diagnostics().front().message + " | " + e.diagnostics().front().hint; }
    return "taken";
  };
  CHECK(refused(R"({"hopper": {"gemm_16": {"value": 1.1}}})") == "must be above 0 and at most 1 | ");
  CHECK(refused(R"({"hopper": {"flash": {"value": 0}}})") == "must be above 0 and at most 1 | ");
  CHECK(refused(R"({"hopper": {"flash_block": {"value": 0}}})") == "taken");
  CHECK(refused(R"({"hopper": {"gemm_61": {"value": 1}}})") ==
        "no such parameter | did you mean 'compute.hopper.gemm_16'?");
}

TEST_CASE("a node has its GPU's memory and power by default", "[hardware]") {
  const NodeSpec spec = default_node(shipped_hardware(), "h200-sxm", {});
  CHECK(spec.memory == Bytes{std::int64_t{141} << 30});
  CHECK(spec.memory_rate == BytesPerSecond{4800e9});
  CHECK(spec.power == Watts{700});
  CHECK(default_node(shipped_hardware(), "l4", "p5").power == Watts{72});
}

}  // namespace
}  // namespace fabricast
