// Systems in published tables, with their nodes and networks.
//
// A new system is one more line. If a source names only the system, its network is assumed to be the vendor's reference
// design [vendor-datasheets], and the row lists the assumption. Data sheets write GB of memory where they mean GiB.
#include <fmt/format.h>

#include <array>

#include "fabricast/hardware/device_names.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

struct System {
  std::string_view name;
  int gpus;                  ///< GPUs per node
  std::string_view node;     ///< JSON
  std::string_view network;  ///< JSON: fabric and routing, if they differ from the defaults
  std::string_view assumed;  ///< the network that is assumed; empty: the source states it
};

constexpr std::string_view roce_tree = R"({"fabric": {"kind": "fat_tree"}, "routing": {"kind": "ecmp", "seeds": 1}})";
constexpr std::string_view roce_rails =
    R"({"fabric": {"kind": "rail_optimized"}, "routing": {"kind": "ecmp", "seeds": 1}})";
constexpr std::string_view h100_96gb =
    R"({"profile": "hgx-h100", "memory": "96GiB", "memory_rate": "2400GBps", "power": "500W"})";

constexpr std::array<System, 22> systems{{
    {"A100-80 Selene HDRx8", 8, R"({"profile": "dgx-a100"})", "", ""},
    {"A100-80 Selene", 8, R"({"profile": "dgx-a100"})", "", ""},
    {"Ampere 8x200G TH4", 8, R"({"profile": "dgx-a100", "nics": {"link": "roce"}})", roce_tree, ""},
    {"A100-80 1600G/node RoCE", 8, R"({"profile": "dgx-a100", "nics": {"link": "roce"}})", roce_rails, ""},
    {"A100-40 1600G/node RoCE", 8, R"({"profile": "dgx-a100-40gb", "nics": {"link": "roce"}})", roce_rails, ""},
    {"A100-80 4x100G RoCE", 8, R"({"profile": "dgx-a100", "nics": {"count": 4, "rate": "100Gbps", "link": "roce"}})",
     roce_tree, "a fat tree without oversubscription; its switches are not stated"},
    {"A100-80 JeanZay 4xOPA", 8, R"({"profile": "dgx-a100", "nics": {"count": 4, "rate": "100Gbps"}})", "",
     "100 Gb/s InfiniBand instead of Omni-Path, for which there is no link kind"},
    {"A800-80", 8, R"({"gpu": "a800-sxm"})", "", "one 200 Gb/s NIC per GPU"},
    {"H800x8/node", 8, R"({"gpu": "h800-sxm"})", "", "one 400 Gb/s NIC per GPU"},
    {"H800", 8, R"({"gpu": "h800-sxm", "nics": {"rate": "200Gbps"}})", "", "one NIC per GPU"},
    {"H100", 8, R"({"profile": "hgx-h100"})", "", "one NIC per GPU"},
    {"H100x8/node", 8, R"({"profile": "hgx-h100"})", "", ""},
    {"H100x8 (1 node)", 8, R"({"profile": "hgx-h100"})", "", ""},
    {"DGX-H100", 8, R"({"profile": "hgx-h100"})", "", ""},
    {"H100-96 400G", 8, h100_96gb, "", ""},
    {"H100-96 400G/GPU 500W", 8, h100_96gb, "", ""},
    {"H100-96 400G/GPU (Meta)", 8, h100_96gb, "", ""},
    {"H200 (4 nodes)", 8, R"({"profile": "hgx-h200"})", "", ""},
    {"DGX-B200", 8, R"({"profile": "hgx-b200"})", "", ""},
    {"DGX-B300", 8, R"({"profile": "hgx-b300"})", "", ""},
    {"DGX-GB200", 4, R"({"profile": "gb200-nvl72"})", "", ""},
    {"DGX-GB300", 4, R"({"profile": "gb300-nvl72"})", "", ""},
}};

/// GPUs per node of a profile that a user's table names as a scenario would. 0 if there is no such profile.
int gpus_of_profile(const std::string& name) {
  const NodePreset* node = find_node(shipped_hardware(), name);
  return node ? node->gpus : 0;
}

}  // namespace

void say_system(Json& scenario, const PublishedRow& row, const Note& note, MappedRow& mapped) {
  const System* system = nullptr;
  for (const System& s : systems)
    if (s.name == row.system) system = &s;
  const int gpus = system ? system->gpus : gpus_of_profile(row.system);
  if (gpus == 0) return miss(mapped, "node: unknown system '" + row.system + "'");
  if (row.gpus % gpus != 0)
    return miss(mapped, fmt::format("cluster.nodes: {} GPUs are not a multiple of the {} of a node", row.gpus, gpus));
  const bool several = row.gpus > gpus;
  // On one node the network does not matter.
  if (several && note.network.starts_with("unknown")) return miss(mapped, "node.nics: the network is unknown");
  scenario["node"] = system ? Json::parse(system->node) : Json{{"profile", row.system}};
  scenario["cluster"] = {{"nodes", row.gpus / gpus}};
  // A profile that a user's table names has its network, and one node needs none.
  if (!several || !system) return;
  if (!system->network.empty()) scenario.update(Json::parse(system->network));
  if (!system->assumed.empty())
    mapped.assumed.push_back(
        {"node.nics", std::string(system->assumed), "the source describes its network incompletely"});
  else if (note.network.find("not stated") != std::string::npos)
    mapped.assumed.push_back({"node.nics", "the vendor's reference design", "the source names only the system"});
}

}  // namespace fabricast::published
