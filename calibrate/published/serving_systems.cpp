// Systems in published serving tables. The name of the GPU determines the node; the rest is given in numbers.
//
// A new GPU is one more line; names of `fabricast list gpus` need no entry. If a source does not name the network, it
// is assumed to be the vendor's reference design [vendor-datasheets], and the row lists the assumption.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include "fabricast/core/scan.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "serving_parts.hpp"

namespace fabricast::serving {

namespace {

struct GpuName {
  std::string_view name;
  std::string_view node;  ///< JSON
  int gpus;               ///< GPUs per node
  bool rack;              ///< whether nodes are trays of one NVLink domain
};

constexpr std::array<GpuName, 8> gpu_names{{
    {"a100-sxm", R"({"profile": "dgx-a100"})", 8, false},
    {"h100-sxm", R"({"profile": "hgx-h100"})", 8, false},
    {"h200-sxm", R"({"profile": "hgx-h200"})", 8, false},
    {"b200", R"({"profile": "hgx-b200"})", 8, false},
    {"b300", R"({"profile": "hgx-b300"})", 8, false},
    {"gb200", R"({"profile": "gb200-nvl72"})", 4, true},
    {"gb300", R"({"profile": "gb300-nvl72"})", 4, true},
    {"gh200", R"({"gpu": "gh200"})", 1, false},
}};

/// The words for a network, and the network that is assumed; empty: the source states it.
struct NetworkName {
  std::string_view name, assumed;
};
constexpr std::array<NetworkName, 4> network_names{{
    {"infiniband 8xHDR", ""},
    {"infiniband", "the vendor's reference design"},
    {"infiniband or roce (not stated)", "InfiniBand, the vendor's reference design"},
    {"nvlink-nvl72", ""},
}};

Json node_of(const GpuName* known, const ServingSystem& system, const ServingRow& row) {
  // The tables use one name for both boards.
  if (system.gpu == "gh200" && row.note.find("144 GB") != std::string::npos) return {{"gpu", "gh200-144gb"}};
  return known ? Json::parse(known->node) : Json{{"gpu", system.gpu}};
}

void say_network(const ServingSystem& system, MappedServing& mapped) {
  for (const NetworkName& n : network_names) {
    if (n.name != system.network) continue;
    if (!n.assumed.empty())
      mapped.assumed.push_back({"node.nics", std::string(n.assumed), "the source describes its network incompletely"});
    return;
  }
  miss(mapped, "node.nics: unknown network '" + system.network + "'");
}

/// The number of GPUs after further prefill workers have filled up the last node. 0 if they cannot fill it exactly.
int filled_up(const Disaggregation& workers, int gpus, int of_node) {
  const int all = (gpus + of_node - 1) / of_node * of_node;
  return (all - gpus) % workers.prompts.gpus_of_one() == 0 ? all : 0;
}

}  // namespace

ServingSystem system_of(const ServingRow& row) {
  ServingSystem system;
  std::string_view rest = row.system;
  while (!rest.empty()) {
    const std::string_view part = trimmed(take_until(rest, ';'));
    const std::size_t at = part.find('=');
    const std::string_view key = part.substr(0, at), value = at == std::string_view::npos ? "" : part.substr(at + 1);
    const auto number = small_number(value);
    if (key == "gpu") system.gpu = value;
    if (key == "net") system.network = value;
    if (key == "count" && number && *number > 0) system.gpus = *number;
    if (key == "nodes" && number && *number > 0) system.nodes = *number;
  }
  return system;
}

int say_system(Json& scenario, const ServingRow& row, MappedServing& mapped) {
  const ServingSystem system = system_of(row);
  const GpuName* known = nullptr;
  for (const GpuName& g : gpu_names)
    if (g.name == system.gpu) known = &g;
  if (!known && !shipped_hardware().gpus.contains(system.gpu)) {
    miss(mapped, "node.gpu: unknown GPU '" + system.gpu + "'");
    return 0;
  }
  if (system.gpus == 0 || system.nodes == 0) {
    miss(mapped, "cluster.nodes: count= and nodes= are required");
    return 0;
  }
  int gpus = system.gpus, nodes = system.nodes;
  if (nodes > 1) say_network(system, mapped);
  Json node = node_of(known, system, row);
  const auto workers = disaggregation_of(row);
  // The stated GPUs do not fill the stated nodes: the service used part of a node or tray.
  const bool broken = nodes > 1 && known && gpus != nodes * known->gpus;
  if (broken && known->rack && gpus % 2 == 0) {
    // All GPUs are in one NVLink domain, so the number of GPUs per tray does not matter.
    nodes = gpus / 2;
    mapped.assumed.push_back(
        {"node.gpus", "2", fmt::format("{} GPUs do not fill whole trays; all share NVLink anyway", gpus)});
    scenario["nvlink_domain"] = {{"nodes", nodes}};
  } else if (broken && workers && !is_rate(mapped.metric) &&
             filled_up(*workers, gpus, known->gpus) == nodes * known->gpus) {
    // Rates of one GPU would change with the number of GPUs; times of a request do not.
    gpus = nodes * known->gpus;
    mapped.assumed.push_back(
        {"workload.disaggregated.prefill.gpus", fmt::format("{}", gpus - workers->decoding.gpus()),
         fmt::format("{} GPUs do not fill whole nodes; further prefill workers fill the last one and do "
                     "not affect a request",
                     system.gpus)});
  } else if (gpus % nodes != 0) {
    miss(mapped, fmt::format("cluster.nodes: {} GPUs cannot form {} equal nodes", gpus, nodes));
    return 0;
  }
  // A profile has its own number of GPUs; it is only stated where it differs.
  if (!known || gpus / nodes != known->gpus || !node.contains("profile")) node["gpus"] = gpus / nodes;
  scenario["node"] = std::move(node);
  scenario["cluster"] = {{"nodes", nodes}};
  return gpus;
}

}  // namespace fabricast::serving
