#include "agreement_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace fabricast::test {

namespace {

using Words = std::vector<std::string_view>;

struct Cluster {
  std::string_view name, node;
  int nodes, nics;  ///< of a node
};
const std::vector<Cluster> clusters{
    {"4 x 8 H100", "{gpu: h100-sxm, gpus: 8}", 4, 8},
    {"4 x 4 H100", "{gpu: h100-sxm, gpus: 4}", 4, 4},
    {"2 x 8 A100", "{gpu: a100-sxm, gpus: 8}", 2, 8},
    {"8 x 1 H100", "{gpu: h100-sxm, gpus: 1, intranode: none, nics: {count: 1, rate: 400Gbps}}", 8, 1},
    {"16 x 1 H100", "{gpu: h100-sxm, gpus: 1, intranode: none, nics: {count: 1, rate: 400Gbps}}", 16, 1},
};
bool is_single(const Cluster& c) { return c.nics == 1; }

struct Calls {
  std::string_view name, algorithm;
  Words protocols, operations;
};
const Words any{"LL", "LL128", "Simple"}, simple{"Simple"};
const std::vector<Calls> calls{
    {"ring", "ring", any, {"all_reduce", "all_gather", "reduce_scatter"}},
    {"chain", "ring", any, {"broadcast", "reduce"}},
    {"tree", "tree", any, {"all_reduce"}},
    {"nvls", "nvls", simple, {"all_reduce"}},
    {"nvlstree", "nvlstree", simple, {"all_reduce"}},
    {"collnetdirect", "collnetdirect", simple, {"all_reduce"}},
    {"collnetchain", "collnetchain", simple, {"all_reduce"}},
    {"pat", "pat", simple, {"all_gather", "reduce_scatter"}},
    {"p2p", "", simple, {"alltoall", "sendrecv", "scatter"}},
};
bool by_switches(const Calls& c) { return c.algorithm == "nvls" || c.algorithm.starts_with("collnet"); }

/// Whether NCCL has it there, and it is not left out to save time.
bool has(const Cluster& cluster, const Calls& c, std::string_view operation, std::string_view protocol) {
  if (c.algorithm == "pat" && !is_single(cluster)) return false;
  if ((by_switches(c) || c.algorithm == "nvlstree") && is_single(cluster)) return false;
  if (c.algorithm.starts_with("nvls") && cluster.name == "2 x 8 A100") return false;
  if ((operation == "reduce_scatter" || operation == "reduce") && protocol != "Simple") return false;
  const bool small = protocol == "Simple" && (operation == "all_reduce" || operation == "alltoall");
  return cluster.name != "4 x 4 H100" || small;
}

struct Network {
  std::string condition, sample, keys, placement;
};

std::string ecmp(int seed) { return fmt::format("routing: {{kind: ecmp, seed: {}, seeds: 1}}\n", seed); }
const std::string adaptive = "routing: {kind: adaptive}\n";

std::string fault(const std::string& link, double rate) {
  return fmt::format("faults: [{{link: {}, rate: {}}}]\n", link, rate);
}

/// Two leaves with half of the nodes each.
std::string leaves(const Cluster& c, int uplinks, int cables) {
  return fmt::format(
      "fabric: {{kind: leaf_spine, leaves: 2, spines: {}, cables: {}, nodes_per_leaf: {}, switch: {{ports: 256}}}}\n",
      std::max(1, uplinks / cables), cables, c.nodes / 2);
}

/// Nodes in turn under one leaf and under the other.
std::string in_turn(int nodes) {
  std::string order;
  for (int i = 0; i < nodes; ++i) order += fmt::format("{}{}", i > 0 ? ", " : "", i % 2 * (nodes / 2) + i / 2);
  return fmt::format(", placement: [{}]", order);
}

std::vector<Network> networks(const Cluster& c) {
  const int up = c.nodes / 2 * c.nics;
  const std::string turns = in_turn(c.nodes), random = ", placement: random, seed: 3";
  std::vector<Network> list{{"adaptive", "", adaptive, ""}};
  for (const int seed : {1, 2, 3})
    list.push_back({"ECMP, 1 cable", fmt::format(", seed {}", seed), leaves(c, up, 1) + ecmp(seed), turns});
  for (const int seed : {1, 2})
    list.push_back({"ECMP, 4 cables", fmt::format(", seed {}", seed), leaves(c, up, 4) + ecmp(seed), turns});
  list.push_back({"4:1, adaptive", "", leaves(c, up / 4, 1) + adaptive, random});
  list.push_back({"4:1, ECMP", "", leaves(c, up / 4, 1) + ecmp(2), random});
  list.push_back({"NIC at 25 %", "", adaptive + fault("node1.nic0", 0.25), ""});
  list.push_back({"NIC at 10 %", "", adaptive + fault(fmt::format("node{}.nic{}", c.nodes - 1, c.nics - 1), 0.1), ""});
  list.push_back({"uplink at 10 %", "", leaves(c, up, 1) + ecmp(1) + fault("leaf0-spine1", 0.1), turns});
  if (!is_single(c)) list.push_back({"NVLink at 25 %", "", adaptive + fault("node1.gpu1-nvswitch", 0.25), ""});
  return list;
}

std::string variables(const Calls& c, std::string_view protocol) {
  if (c.algorithm.empty()) return "";
  if (by_switches(c)) return fmt::format("NCCL_COLLNET_ENABLE: 1, NCCL_ALGO: {}", c.algorithm);
  return fmt::format("NCCL_ALGO: {}, NCCL_PROTO: {}", c.algorithm, protocol);
}

GridCase grid_case(const Cluster& cluster, const Calls& c, std::string_view operation, std::string_view protocol,
                   const Network& network) {
  const std::string yaml = fmt::format(
      "fabricast: 1\nnode: {}\ncluster: {{nodes: {}{}}}\n{}nccl: {{version: \"2.28\", env: {{{}}}}}\n"
      "workload: {{collective: {}, harness: {{tool: isolated}}}}\n",
      cluster.node, cluster.nodes, network.placement, network.keys, variables(c, protocol), operation);
  return {std::string(c.name), network.condition,
          fmt::format("{}, {} {}{}", cluster.name, operation, protocol, network.sample), yaml};
}

}  // namespace

std::vector<GridCase> agreement_grid() {
  std::vector<GridCase> grid;
  for (const Cluster& cluster : clusters)
    for (const Calls& c : calls)
      for (const Network& network : networks(cluster))
        for (const std::string_view operation : c.operations)
          for (const std::string_view protocol : c.protocols) {
            const bool hashed = network.keys.find("ecmp") != std::string::npos;
            if (!has(cluster, c, operation, protocol) || (hashed && by_switches(c))) continue;
            grid.push_back(grid_case(cluster, c, operation, protocol, network));
          }
  const auto cell = [](const GridCase& c) { return std::tie(c.algorithm, c.condition); };
  std::stable_sort(grid.begin(), grid.end(), [&](const auto& a, const auto& b) { return cell(a) < cell(b); });
  return grid;
}

}  // namespace fabricast::test
