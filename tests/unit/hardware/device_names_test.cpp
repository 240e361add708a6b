#include "fabricast/hardware/device_names.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "fabricast/hardware/node.hpp"

namespace fabricast {
namespace {

const Hardware& hardware() { return shipped_hardware(); }

std::string gpu(std::string_view name) {
  const auto named = find_gpu(hardware(), name);
  if (!named) return {};
  return named->variant ? named->variant->names.aliases.front() : named->kind->name;
}

std::string node(std::string_view name) {
  const NodePreset* preset = find_node(hardware(), name);
  return preset ? preset->name : std::string();
}

std::string refusal(std::string_view gpu, std::string_view preset) {
  try {
    default_node(hardware(), gpu, preset);
  } catch (const UserError& e) {
    const Diagnostic& d = e.diagnostics().front();
    return d.path + ": " + d.message + " | " + d.hint;
  }
  return "taken";
}

/// All names of GPUs with the kinds and variants that have them.
class Names {
 public:
  Names() {
    for (const auto& [name, kind] : hardware().gpus) {
      own_[bare_name(name)].insert(name);
      add(kind.names, name);
      for (const GpuVariant& v : kind.variants) add(v.names, v.names.aliases.front());
    }
  }

  std::map<std::string, std::multiset<std::string>> own_, usual_, also_;

 private:
  void add(const OtherNames& names, const std::string& of) {
    for (const std::string& n : names.aliases) own_[bare_name(n)].insert(of);
    for (const std::string& n : names.usual_for) usual_[bare_name(n)].insert(of);
    for (const std::string& n : names.also_called) also_[bare_name(n)].insert(of);
  }
};

TEST_CASE("a name stands for one GPU, or has a usual meaning", "[hardware]") {
  const Names names;
  for (const auto& [name, of] : names.own_) {
    INFO(name);
    CHECK(of.size() == 1);
    CHECK_FALSE(names.usual_.contains(name));
    CHECK_FALSE(names.also_.contains(name));
    CHECK(gpu(name) == *of.begin());
  }
  for (const auto& [name, of] : names.usual_) {
    INFO(name);
    CHECK(of.size() == 1);
    CHECK(gpu(name) == *of.begin());
  }
  for (const auto& [name, of] : names.also_) {
    INFO(name);
    CHECK((names.usual_.contains(name)));
    CHECK(std::set(of.begin(), of.end()).size() == of.size());
  }
}

TEST_CASE("a name of a node is not a name of a GPU", "[hardware]") {
  std::map<std::string, std::multiset<std::string>> names;
  for (const auto& [name, preset] : hardware().nodes) {
    names[bare_name(name)].insert(name);
    for (const std::string& alias : preset.aliases) names[bare_name(alias)].insert(name);
  }
  for (const auto& [name, of] : names) {
    INFO(name);
    CHECK(of.size() == 1);
    CHECK(node(name) == *of.begin());
    CHECK_FALSE(find_gpu(hardware(), name));
  }
}

TEST_CASE("names that people type and drivers print are known", "[hardware]") {
  CHECK(gpu("H100") == "h100-sxm");
  CHECK(gpu("h100-80gb") == "h100-sxm");
  CHECK(gpu("NVIDIA H100 80GB HBM3") == "h100-sxm");
  CHECK(gpu("A100_80GB") == "a100-sxm");
  CHECK(gpu("a100-40gb") == "a100-sxm-40gb");
  CHECK(gpu("NVIDIA A100-PCIE-40GB") == "a100-pcie-40gb");
  CHECK(gpu("Tesla V100-SXM2-32GB") == "v100-sxm");
  CHECK(gpu("NVIDIA Tesla V100-PCIE-16GB") == "v100-pcie-16gb");
  CHECK(gpu("RTX 3090") == "rtx3090");
  CHECK(gpu("GeForce RTX 2080 Ti") == "rtx2080ti");
  CHECK(gpu("Quadro RTX 6000") == "quadro-rtx6000");
  CHECK(gpu("GH200 144G HBM3e") == "gh200-144gb");
  CHECK(gpu("nvidia").empty());
  CHECK(gpu("").empty());
  CHECK(node("DGX-1") == "dgx-v100");
  CHECK(node("dgx_h100") == "hgx-h100");
  CHECK(node("NVIDIA DGX A100") == "dgx-a100");
  CHECK(node("p5.48xlarge") == "p5");
  CHECK(node("Standard_ND96isr_H100_v5") == "nd-h100-v5");
  CHECK(node("BM.GPU.H100.8") == "bm.gpu.h100.8");
  CHECK(node("a3-megagpu-8g") == "a3-mega");
}

TEST_CASE("a memory variant changes a default, not the GPU", "[hardware]") {
  const NodeSpec spec = default_node(hardware(), "A100-40GB", {});
  CHECK(spec.gpu == "a100-sxm");
  CHECK(spec.memory == Bytes{std::int64_t{40} << 30});
  CHECK(spec.memory_rate == BytesPerSecond{1555e9});
  CHECK(default_node(hardware(), {}, "p4de").memory == Bytes{std::int64_t{80} << 30});
  const NodeSpec p4d = default_node(hardware(), {}, "p4d.24xlarge");
  CHECK(p4d.profile == "p4d");
  CHECK(p4d.gpu == "a100-sxm");
  CHECK(p4d.memory == Bytes{std::int64_t{40} << 30});
  CHECK(p4d.cpu == CpuVendor::intel);
  // The same GPU by another name keeps the machine, and says its memory.
  const NodeSpec same = default_node(hardware(), "A100-80GB", "p4d");
  CHECK(same.nics.count == 4);
  CHECK(same.memory == Bytes{std::int64_t{80} << 30});
}

TEST_CASE("an ambiguous name causes a warning", "[hardware]") {
  const auto doubts = doubts_about_gpu(hardware(), "H100");
  REQUIRE(doubts.size() == 1);
  CHECK(doubts[0].severity == Diagnostic::Severity::warning);
  CHECK(doubts[0].path == "node.gpu");
  CHECK(doubts[0].message == "'H100' is read as h100-sxm; it may also be h100-nvl, h100-pcie");
  CHECK(doubts[0].hint == "write h100-sxm to avoid this warning");
  CHECK(doubts_about_gpu(hardware(), "A100-40GB")[0].message ==
        "'A100-40GB' is read as a100-sxm-40gb; it may also be a100-pcie-40gb");
  for (const char* clear : {"h100-sxm", "NVIDIA H100 PCIe", "H200", "no such thing", ""})
    CHECK(doubts_about_gpu(hardware(), clear).empty());
}

TEST_CASE("accelerators of other vendors are refused with a reason", "[hardware]") {
  const std::string models = "; Fabricast models NCCL on NVIDIA GPUs | ";
  CHECK(refusal("MI300X", {}) ==
        "node.gpu: 'MI300X' is an AMD GPU" + models + "its library RCCL chooses and runs collectives differently");
  for (const char* amd : {"mi250x", "MI325X", "AMD Instinct MI355X", "mi300a"})
    CHECK_THAT(refusal(amd, {}), Catch::Contains("is an AMD GPU"));
  for (const char* tpu : {"tpu-v5p", "TPU v4", "v6e"}) CHECK_THAT(refusal(tpu, {}), Catch::Contains("is a Google TPU"));
  CHECK_THAT(refusal("Gaudi 3", {}), Catch::Contains("is an Intel Gaudi"));
  CHECK_THAT(refusal("trainium2", {}), Catch::Contains("Neuron"));
  CHECK_THAT(refusal({}, "trn2.48xlarge"), Catch::Contains("node.profile: 'trn2.48xlarge' is an AWS accelerator"));
  CHECK_THAT(refusal({}, "Standard_ND96isr_MI300X_v5"), Catch::Contains("is an AMD GPU"));
  CHECK_THAT(refusal("P100", {}), Catch::Contains("from before Volta"));
}

TEST_CASE("a node's name in place of a GPU's, and the reverse, gives a hint", "[hardware]") {
  CHECK(refusal("dgx-h100", {}) ==
        "node.gpu: unknown GPU 'dgx-h100' | this is a node type; use node: {profile: hgx-h100}");
  CHECK(refusal({}, "H200") == "node.profile: unknown profile 'H200' | this is a GPU; use node: {gpu: h200-sxm}");
  CHECK_THAT(refusal("the moon", {}), Catch::Contains("`fabricast list gpus`"));
}

TEST_CASE("no known GPU is mistaken for another vendor's", "[hardware]") {
  std::vector<std::string> names = other_gpu_names(hardware());
  for (const auto& [name, kind] : hardware().gpus) names.push_back(name);
  for (const auto& [name, preset] : hardware().nodes) names.push_back(name);
  for (const OtherAccelerator& other : hardware().other_accelerators)
    for (std::string_view pattern : other.names) {
      const bool star = pattern.ends_with('*');
      if (star) pattern.remove_suffix(1);
      INFO(pattern);
      CHECK(bare_name(pattern) == pattern);
      for (const std::string& name : names)
        CHECK_FALSE((star ? bare_name(name).starts_with(pattern) : bare_name(name) == pattern));
    }
}

}  // namespace
}  // namespace fabricast
