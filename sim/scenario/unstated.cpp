// Which inputs a scenario leaves open, and how likely their other values are (scenario/unstated.hpp; the table is in
// docs/models/intervals.md). The probabilities are guesses, except for versions.
#include "fabricast/scenario/unstated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/planner/nccl.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

namespace {

bool is_open(const Scenario& s, std::string_view key) {
  return std::find(s.unstated.begin(), s.unstated.end(), key) != s.unstated.end();
}

/// The alternative versions; for a range, those inside it.
UnstatedInput version_of(const Scenario& s) {
  const NcclVersions range = nccl_versions(s);
  const NcclVersion assumed = main_version(s);
  UnstatedInput input{"nccl.version", to_text(assumed), {}, "NCCL_DEBUG=VERSION prints it"};
  double total = 0;
  for (const UsualVersion& usual : usual_versions(gpu_of(s).compute_capability)) {
    if (!range.known() && !range.contain(usual.version)) continue;
    total += usual.weight;
    if (usual.version != assumed) input.others.push_back({to_text(usual.version), usual.weight});
  }
  // Within a range, probabilities are conditioned on the range.
  for (UnstatedInput::Other& other : input.others) other.weight /= total;
  return input;
}

/// Of each end of a 90 % interval: a distribution that takes each end with the probability 1 / (2 x 1.645^2), and else
/// the middle, has the variance of the normal one with this interval.
constexpr double weight_of_end = 0.185;

/// The efficiency of contended links.
UnstatedInput efficiency_of(const Scenario& s) {
  const auto text = [&](double Parameter::*end) {
    Network network = s.hardware->network(network_name(s.node.spec));
    for (Parameter* p : {&network.contended_efficiency, &network.sprayed_efficiency}) p->value = p->*end;
    return fmt::format("{:.6g}", contended_efficiency(s.fabric.congestion, network,
                                                      routing_policies()[s.routing.kind].paths(s.routing.spec)));
  };
  return {"fabric.congestion.efficiency",
          text(&Parameter::value),
          {{text(&Parameter::low), weight_of_end}, {text(&Parameter::high), weight_of_end}},
          "let all hosts of a leaf send to other leaves (ib_write_bw): their rate as a fraction of the uplinks'"};
}

/// The wait in front of links that others fill.
UnstatedInput queue_of(const Scenario& s) {
  const Parameter& queue = s.hardware->network(network_name(s.node.spec)).queue;
  const auto text = [](double us) { return fmt::format("{:.6g}us", us); };
  return {"fabric.congestion.queue",
          text(queue.value),
          {{text(queue.low), weight_of_end}, {text(queue.high), weight_of_end}},
          "the thresholds of ECN marks over the rate of the switches' ports"};
}

}  // namespace

std::vector<UnstatedInput> unstated_inputs(const Scenario& s) {
  const NodeSpec& node = s.node.spec;
  // The CPU, GDR and PCIe switches affect paths between GPU and NIC only.
  const bool network = s.cluster.nodes > 1 && node.nics.count > 0;
  std::vector<UnstatedInput> inputs;
  if (is_open(s, "nccl.version")) inputs.push_back(version_of(s));
  if (network && is_open(s, "node.cpu") && node.cpu != CpuVendor::arm) {
    // Guesses: from A100 on, hosts with either vendor's CPUs are common.
    constexpr double since_ampere = 0.3, before = 0.1;
    const double weight = gpu_of(s).compute_capability >= 80 ? since_ampere : before;
    const CpuVendor other = node.cpu == CpuVendor::intel ? CpuVendor::amd : CpuVendor::intel;
    inputs.push_back(
        {"node.cpu", std::string(name_of(node.cpu)), {{std::string(name_of(other)), weight}}, "lscpu prints it"});
  }
  const LinkKind link = node.nics.link;
  if (network && is_open(s, "node.gdr") && (link == LinkKind::infiniband || link == LinkKind::roce))
    inputs.push_back({"node.gdr",
                      std::string(name_of(node.gdr)),
                      {{std::string(name_of(Gdr::off)), 0.05}},
                      "the log of NCCL_DEBUG=INFO shows GDRDMA if it is on"});
  if (network && is_open(s, "node.pcie_switches") && node.pcie_switches > 0)
    inputs.push_back({"node.pcie_switches",
                      std::to_string(node.pcie_switches),
                      {{"0", 0.1}},
                      "`nvidia-smi topo -m` shows PIX or PXB between a GPU and its NIC, or PHB without switches"});
  const CongestionSpec& congestion = s.fabric.congestion;
  if (network && congestion.control == CongestionControl::reactive && congestion.efficiency.value == 0)
    inputs.push_back(efficiency_of(s));
  const bool others = !s.jobs.empty() || !s.background.empty();
  if (network && others && congestion.control == CongestionControl::reactive && congestion.queue.value == 0)
    inputs.push_back(queue_of(s));
  std::erase_if(inputs, [](const UnstatedInput& input) { return input.others.empty(); });
  return inputs;
}

Scenario with_input(const Scenario& scenario, std::string_view key, std::string_view value) {
  Scenario made = scenario;
  if (key == "nccl.version") made.nccl.version = value;
  if (key == "node.cpu") made.node.spec.cpu = enum_from<CpuVendor>(value).value_or(made.node.spec.cpu);
  if (key == "node.gdr") made.node.spec.gdr = enum_from<Gdr>(value).value_or(made.node.spec.gdr);
  if (key == "node.pcie_switches") made.node.spec.pcie_switches = 0;
  if (key == "fabric.congestion.efficiency")
    made.fabric.congestion.efficiency.value = std::strtod(std::string(value).c_str(), nullptr);
  if (key == "fabric.congestion.queue") made.fabric.congestion.queue = parse_seconds(value).value;
  return made;
}

}  // namespace fabricast
