// Prefixes of the hardware parameters that a scenario's forecast may depend on. An interval takes into account how well
// these are known, and no others: a poorly known PCIe path does not widen forecasts over NVLink.
#include "fabricast/scenario/used_parameters.hpp"

#include <fmt/format.h>

namespace fabricast {

std::vector<std::string> used_parameters(const Scenario& scenario) {
  const Hardware& hardware = scenario.hardware;
  const NodeSpec& node = scenario.node.spec;
  const GpuKind& gpu = gpu_of(scenario);
  std::vector<std::string> used = {"software.", "links." + gpu.nvlink + "."};
  const auto add_set = [&](std::string_view section, const std::string& name) {
    for (std::string& path : hardware.parameters_of(section, name)) used.push_back(std::move(path));
  };
  add_set("architectures", gpu.architecture);
  if (scenario.cluster.nodes > 1 && node.nics.count > 0) add_set("networks", network_name(node));
  if (node.intranode == Intranode::pcie) {
    used.push_back("links." + gpu.pcie + ".");
    used.emplace_back("pcie_paths.");
  }
  return used;
}

}  // namespace fabricast
