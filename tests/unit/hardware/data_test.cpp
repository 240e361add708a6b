// The data that travel in the binary.
#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <set>

#include "fabricast/core/quantity.hpp"
#include "fabricast/hardware/node.hpp"

namespace fabricast {
namespace {

/// `guess`, or a key in square brackets.
bool is_source(const std::string& text) {
  if (text.find("guess") != std::string::npos) return true;
  const auto open = text.find('['), close = text.find(']', open);
  return open != std::string::npos && close != std::string::npos && close > open + 1;
}

TEST_CASE("every number has an interval and a source", "[hardware]") {
  Hardware hardware = shipped_hardware();
  const auto all = hardware.all_parameters();
  CHECK(all.size() > 150);
  std::set<std::string> paths;
  for (const auto& [path, ref] : all) {
    INFO(path);
    CHECK(paths.insert(path).second);
    const Parameter& p = *ref.parameter;
    CHECK((std::isfinite(p.value) && std::isfinite(p.low) && std::isfinite(p.high)));
    CHECK(0 <= p.low);
    CHECK(p.low <= p.value);
    CHECK(p.value <= p.high);
    // What has no effect (a time of 0, a factor of 1) states why; all else names a study or owns up to a guess.
    const bool inert = p.low == p.high && (p.value == 0 || p.value == 1);
    CHECK((is_source(p.source) || (inert && !p.source.empty())));
    // The shipped fits alone go by their key; all else says what it is.
    const std::string_view origin = name_of(origin_of(p));
    const bool by_fit =
        p.source.starts_with("[fit-") || p.source.starts_with("[step-fit-") || p.source.starts_with("[serving-fit-");
    CHECK((inert || by_fit || p.source.starts_with(origin)));
    const std::set<std::string_view> units = {"us", "ms", "s", "B", "GB/s", "KiB", "terms", "keys", ""};
    CHECK(units.contains(ref.unit));
    CHECK_FALSE(ref.doc.empty());
    CHECK(hardware.find(path) == ref.parameter);
  }
  for (const auto& [name, type] : hardware.links) {
    INFO(name);
    CHECK(type.rate.value > 0);
    CHECK(type.efficiency.value <= 1);
    CHECK(is_source(type.source));
  }
  for (const auto& [name, gpu] : hardware.gpus) {
    INFO(name);
    CHECK(is_source(gpu.source));
    CHECK(is_source(gpu.sheet.source));
    for (const GpuVariant& variant : gpu.variants) CHECK(is_source(variant.source));
  }
  CHECK(hardware.find("architectures.hopper.nothing") == nullptr);
}

TEST_CASE("all references of GPUs, nodes and networks exist", "[hardware]") {
  const Hardware& hardware = shipped_hardware();
  for (const auto& [name, gpu] : hardware.gpus) {
    INFO(name);
    CHECK(hardware.architectures.count(gpu.architecture));
    CHECK((gpu.nvlink.empty() ? gpu.nvlinks == 0 : hardware.links.count(gpu.nvlink) == 1));
    CHECK(hardware.links.count(gpu.pcie));
    CHECK((gpu.c2c.empty() || hardware.links.count(gpu.c2c)));
    CHECK_NOTHROW(build_node(default_node(hardware, name, {}), hardware));
  }
  for (const auto& [name, preset] : hardware.nodes) {
    INFO(name);
    const Node node = build_node(default_node(hardware, {}, name), hardware);
    CHECK(node.graph.gpus == preset.gpus);
    CHECK(node.spec.nics.count == preset.nics);
    CHECK(node.spec.nics.rate == preset.nic_rate);
    CHECK((preset.cpu.empty() || preset.cpu == name_of(node.spec.cpu)));
    CHECK((preset.source.empty() || is_source(preset.source)));
    CHECK(preset.nvlink_domain >= 1);
  }
  for (std::size_t kind = 0; is_network(static_cast<LinkKind>(kind)); ++kind)
    CHECK(hardware.networks.count(EnumNames<LinkKind>::names[kind]));
}

TEST_CASE("GPUs have the links that their vendors state [vendor-datasheets]", "[hardware]") {
  const Hardware& hardware = shipped_hardware();
  const std::vector<std::tuple<const char*, int, double>> nvlink = {
      {"v100-sxm", 70, 150}, {"a100-sxm", 80, 300}, {"h100-sxm", 90, 450}, {"h200-sxm", 90, 450},
      {"h800-sxm", 90, 200}, {"b200", 100, 900},    {"gb200", 100, 900}};
  for (const auto& [name, capability, gbps] : nvlink) {
    const GpuKind& gpu = hardware.gpus.find(name)->second;
    INFO(name);
    CHECK(gpu.compute_capability == capability);
    CHECK(gpu.nvlinks * gigabytes_per_second(hardware.links.find(gpu.nvlink)->second.rate) == Approx(gbps));
  }
  // PCIe x16 in one direction.
  for (const auto& [name, gbps] : {std::pair{"pcie3", 15.75}, {"pcie4", 31.5}, {"pcie5", 63.}, {"pcie6", 121.}})
    CHECK(gigabytes_per_second(hardware.links.find(name)->second.rate) == Approx(gbps));
}

TEST_CASE("cards have the links that their vendors state [vendor-datasheets]", "[hardware]") {
  const Hardware& hardware = shipped_hardware();
  // One direction of all bridges of a card.
  const std::vector<std::tuple<const char*, int, double>> bridges = {{"rtx2080ti", 75, 50}, {"a30", 80, 100},
                                                                     {"a40", 86, 56.25},    {"rtx-a6000", 86, 56.25},
                                                                     {"h100-nvl", 90, 300}, {"h200-nvl", 90, 450}};
  for (const auto& [name, capability, gbps] : bridges) {
    const GpuKind& gpu = hardware.gpus.find(name)->second;
    INFO(name);
    CHECK(gpu.compute_capability == capability);
    CHECK(gpu.nvlinks * gigabytes_per_second(hardware.links.find(gpu.nvlink)->second.rate) == Approx(gbps));
    CHECK(gpu.intranode == "pcie");
    NodeSpec pair = default_node(hardware, name, {});
    pair.gpus = 2, pair.intranode = Intranode::nvlink_mesh;
    CHECK(build_node(pair, hardware).nvlink);
  }
  for (const char* name : {"rtx2080ti", "rtx3080", "rtx4080", "rtx5080", "rtx5090"})
    CHECK_FALSE(hardware.gpus.find(name)->second.peer_to_peer);
  for (const char* name : {"t4", "a10", "a40", "rtx-a6000", "l40", "rtx6000-ada", "rtx-pro-6000"})
    CHECK(hardware.gpus.find(name)->second.peer_to_peer);
}

TEST_CASE("an architecture that is like another inherits its parameters", "[hardware]") {
  Hardware hardware = shipped_hardware();
  CHECK(hardware.architecture("turing").hop[0].value == hardware.architecture("volta").hop[0].value);
  CHECK(hardware.architecture("blackwell_rtx").rate[2].value == hardware.architecture("ada").rate[2].value);
  CHECK(prior_hardware().architecture("turing").pcie_hop.source.find("guess") != std::string::npos);
  hardware.find("architectures.volta.hop_ll")->value = 9;
  CHECK(hardware.architecture("turing").hop[0].value == 9);
  hardware.own("architectures.turing");
  hardware.find("architectures.volta.hop_ll")->value = 8;
  CHECK(hardware.architecture("turing").hop[0].value == 9);
}

TEST_CASE("parameters of a set are its own and the inherited ones", "[hardware]") {
  Hardware hardware = prior_hardware();
  const auto has = [&](std::string_view section, std::string_view name, std::string_view path) {
    const auto all = hardware.parameters_of(section, name);
    return std::find(all.begin(), all.end(), path) != all.end();
  };
  CHECK(has("architectures", "turing", "architectures.turing."));
  CHECK(has("architectures", "turing", "architectures.volta.hop_ll"));
  CHECK_FALSE(has("architectures", "turing", "architectures.hopper.hop_ll"));
  CHECK(has("architectures", "turing", "architectures.hopper.copy_start"));  // Volta has none either
  CHECK_FALSE(has("architectures", "turing", "architectures.volta.launch"));
  CHECK(has("stacks", "deepspeed-0.14", "stacks.pytorch-ddp-2.4.expert_exposed"));
  CHECK(hardware.stack("deepspeed-0.14").expert_exposed.value ==
        hardware.stacks.at("pytorch-ddp-2.4").expert_exposed.value);
  CHECK(hardware.parameters_of("architectures", "hopper").size() == 1);
  hardware.own("architectures.turing");
  CHECK(hardware.parameters_of("architectures", "turing").size() == 1);
}

TEST_CASE("parameters have an origin", "[hardware]") {
  const auto of = [](const char* source, double low = 1, double high = 2) {
    Parameter p;
    p.value = low, p.low = low, p.high = high, p.source = source;
    return origin_of(p);
  };
  CHECK(of("guess") == ParameterOrigin::guess);
  CHECK(of("guess: as for Volta, wider") == ParameterOrigin::guess);
  CHECK(of("data sheet: [FABRICS-1]") == ParameterOrigin::data_sheet);
  CHECK(of("lab, 2 nodes") == ParameterOrigin::fit);
  CHECK(of("none", 1, 1) == ParameterOrigin::constant);
}

TEST_CASE("payload shares of packets of 4096 bytes [FABRICS-2]", "[hardware]") {
  for (const auto& [name, type] : shipped_hardware().links) {
    INFO(name);
    if (type.kind == LinkKind::infiniband) CHECK(type.efficiency.value == Approx(4096. / 4122).epsilon(1e-4));
    if (type.kind == LinkKind::roce) CHECK(type.efficiency.value == Approx(4096. / 4178).epsilon(1e-4));
  }
}

TEST_CASE("the spread of a size is that of its band", "[hardware]") {
  const ForecastSpread& spread = shipped_hardware().spread;
  const std::int64_t limits[] = {1 << 16, 1 << 20, 1 << 26};
  for (std::size_t b = 0; b < std::size(limits); ++b) {
    CHECK(&spread.at(limits[b] - 1) == &spread.bands[b]);
    CHECK(&spread.at(limits[b]) == &spread.bands[b + 1]);
  }
  CHECK(&spread.at(1) == &spread.bands.front());
  CHECK(&spread.at(std::numeric_limits<std::int64_t>::max()) == &spread.bands.back());
}

TEST_CASE("the link type of the nearest rate", "[hardware]") {
  const Hardware& hardware = shipped_hardware();
  const auto generation = [&](LinkKind kind, const char* rate) {
    return hardware.link_type(kind, parse_rate(rate).value).generation;
  };
  CHECK(generation(LinkKind::infiniband, "400Gbps") == "ndr");
  CHECK(generation(LinkKind::infiniband, "800Gbps") == "xdr");
  CHECK(generation(LinkKind::infiniband, "56Gbps") == "fdr");
  CHECK(generation(LinkKind::roce, "400Gbps") == "400");
  CHECK(generation(LinkKind::roce, "28Gbps") == "25");  // nearest by ratio
  CHECK(generation(LinkKind::roce, "1.6Tbps") == "800");
}

}  // namespace
}  // namespace fabricast
