#include "random_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace fabricast::test {

namespace {

using Words = std::vector<std::string_view>;

struct Box {
  std::string_view gpu;
  int gpus, most_nodes;
  std::string_view nics;  ///< empty: as usual
  std::string_view gdr = "auto";
};

constexpr Box boxes[] = {
    {"h100-sxm", 8, 5, ""},
    {"h100-sxm", 8, 5, "{count: 4, rate: 400Gbps}"},
    {"h100-sxm", 8, 5, "", "false"},
    {"h100-sxm", 8, 5, "{count: 16, rate: 200Gbps}"},
    {"h100-sxm", 4, 8, "{count: 4, rate: 200Gbps, link: roce}"},
    {"h100-sxm", 4, 8, ""},
    {"h100-sxm", 4, 8, "{count: 1, rate: 100Gbps}"},
    {"h100-sxm", 2, 8, "{count: 2, rate: 400Gbps, link: efa}"},
    {"a100-sxm", 8, 5, ""},
    {"a100-sxm", 4, 8, "{count: 2, rate: 200Gbps, link: slingshot}"},
    {"v100-sxm", 4, 8, ""},
    {"a100-pcie", 4, 8, "{count: 2, rate: 200Gbps}"},
    {"l40s", 8, 5, "{count: 4, rate: 200Gbps, link: roce}"},
    {"l40s", 4, 8, "{count: 1, rate: 400Gbps}", "false"},
    {"rtx4090", 4, 8, "{count: 1, rate: 100Gbps, link: socket}"},
    {"gb200", 4, 8, ""},
};
constexpr Box single_boxes[] = {
    {"h100-sxm", 1, 12, "{count: 1, rate: 400Gbps}", "auto"},
    {"h100-sxm", 1, 12, "{count: 2, rate: 200Gbps}", "auto"},
    {"h100-sxm", 1, 32, "{count: 1, rate: 200Gbps}", "auto"},
    {"a100-sxm", 1, 12, "{count: 1, rate: 200Gbps}", "false"},
    {"l40s", 1, 32, "{count: 1, rate: 100Gbps, link: roce}", "auto"},
};

std::string keys_of(const Box& box) {
  return fmt::format("  gpu: {}\n  gpus: {}\n{}{}  gdr: {}\n", box.gpu, box.gpus,
                     box.gpus == 1 ? "  intranode: none\n" : "",
                     box.nics.empty() ? "" : fmt::format("  nics: {}\n", box.nics), box.gdr);
}

std::string sample_cluster(Rng& rng, int nodes, int size) {
  std::string more;
  if (size > nodes) more += fmt::format(", size: {}", size);
  if (once_in(rng, 2)) more += fmt::format(", placement: random, seed: {}", from_to(rng, 1, 1000));
  return fmt::format("{{nodes: {}{}}}", nodes, more);
}

std::string sample_leaf_spine(Rng& rng, int size, int nics) {
  const int leaves = one_of(rng, {2, 2, 3, 4});
  const int cables = one_of(rng, {1, 2, 4});
  const int oversubscription = one_of(rng, {1, 2, 4});
  const int below = (size + leaves - 1) / leaves * nics;
  return fmt::format("{{kind: leaf_spine, leaves: {}, spines: {}, cables: {}}}", leaves,
                     std::max(1, below / (cables * oversubscription)), cables);
}

std::string sample_fabric(Rng& rng, int size, int nics) {
  const std::uint64_t kind = rng.below(4);
  if (kind == 0) return sample_leaf_spine(rng, size, nics);
  const int ports = one_of(rng, {8, 16, 32});
  if (kind == 1) return fmt::format("{{kind: rail_optimized, switch: {{ports: {}}}}}", ports);
  return fmt::format("{{kind: fat_tree, switch: {{ports: {}}}, oversubscription: {}}}", ports,
                     one_of(rng, {1, 1, 2, 4}));
}

/// \param detours  whether the fabric has any
std::string sample_routing(Rng& rng, bool detours) {
  if (detours && once_in(rng, 4)) {
    if (once_in(rng, 2))
      return fmt::format("{{kind: ugal, choice: {}}}", one_of<std::string_view>(rng, {"queue_pair", "packet"}));
    return fmt::format("{{kind: valiant, seed: {}, seeds: 1, nonminimal: {}, choice: {}}}", from_to(rng, 1, 1000),
                       one_of(rng, {0.3, 1.0}), one_of<std::string_view>(rng, {"queue_pair", "packet"}));
  }
  const auto kind = one_of<std::string_view>(rng, {"ecmp", "ecmp", "ecmp", "adaptive", "adaptive", "spray", "static"});
  if (kind != "ecmp") return fmt::format("{{kind: {}}}", kind);
  const int seed = from_to(rng, 1, 1000);
  const auto hash = one_of<std::string_view>(rng, {"crc16", "crc32", "xor"});
  const auto bits = one_of<std::string_view>(rng, {"per_tier", "same"});
  const auto salt = one_of<std::string_view>(rng, {"per_switch", "shared"});
  return fmt::format("\n  {{kind: ecmp, seed: {}, seeds: 1, hash: {}, bits: {}, salt: {}}}", seed, hash, bits, salt);
}

struct Call {
  std::string_view algorithm;
  Words protocols, collectives;
};

/// NCCL has these; which of them fit, depends on the nodes.
Call sample_call(Rng& rng, bool single) {
  static constexpr std::string_view all_reduce = "all_reduce";
  const Words any{"LL", "LL128", "Simple"}, simple{"Simple"};
  const Words rooted{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"};
  const std::uint64_t kind = rng.below(single ? 4 : 8);
  switch (kind) {
    case 0: return {"ring", any, rooted};
    case 1: return {"tree", any, {all_reduce}};
    case 2: return {"", simple, {"alltoall", "sendrecv", "scatter", "gather"}};
    case 3: return single ? Call{"pat", simple, {"all_gather", "reduce_scatter"}} : Call{"ring", any, rooted};
    case 4: return {"nvls", simple, {all_reduce, "all_gather", "reduce_scatter"}};
    case 5: return {"nvlstree", simple, {all_reduce}};
    case 6: return {"collnetdirect", simple, {all_reduce}};
    default: return {"collnetchain", simple, {all_reduce}};
  }
}

std::string sample_variables(Rng& rng, const Call& call) {
  std::string list;
  const auto add = [&](std::string_view name, auto value) { list += fmt::format("    {}: {}\n", name, value); };
  if (!call.algorithm.empty()) add("NCCL_ALGO", call.algorithm), add("NCCL_PROTO", one_from(rng, call.protocols));
  if (call.algorithm == "nvls" || call.algorithm.starts_with("collnet")) add("NCCL_COLLNET_ENABLE", 1);
  if (once_in(rng, 3)) {
    add("NCCL_IB_QPS_PER_CONNECTION", one_of(rng, {2, 3, 4, 8}));
    add("NCCL_IB_SPLIT_DATA_ON_QPS", from_to(rng, 0, 1));
  }
  if (once_in(rng, 4)) add("NCCL_MAX_NCHANNELS", one_of(rng, {1, 2, 4, 8}));
  if (once_in(rng, 6)) add("NCCL_CROSS_NIC", from_to(rng, 0, 2));
  if (once_in(rng, 6)) add("NCCL_PXN_DISABLE", 1);
  return list.empty() ? "" : "  env:\n" + list;
}

/// 32 KiB to 512 MiB, evenly on a logarithmic axis; whole kibibytes, so that the file says them exactly.
std::int64_t sample_bytes(Rng& rng) {
  const std::int64_t least = std::int64_t{1} << from_to(rng, 5, 18);
  return 1024 * (least + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(least))));
}

}  // namespace

bool has_detours(std::string_view fabric) { return !fabric.empty() && fabric != "multi_plane" && fabric != "islands"; }

std::string RandomScenario::yaml() const {
  return fmt::format(
      "fabricast: 1\nnode:\n{}{}cluster: {}\nfabric: {}\nrouting: {}\n{}nccl:\n  version: \"{}\"\n{}workload:\n"
      "  collective: {}\n  sizes: [{}KiB]\n  harness: {{tool: isolated}}\n",
      node, domain, cluster, fabric, routing, faults, version, variables, collective, bytes / 1024);
}

std::string direct_fabric(Rng& rng, std::string_view kind, int nodes) {
  // Enough switches for one node each, more or less; ports are no limit here.
  std::string keys;
  if (kind == "dragonfly") {
    const int group = one_of(rng, {1, 2, 3, 4});
    keys = fmt::format("groups: {}, switches_per_group: {}, local_links: {}, global_links: {}",
                       std::max(1, nodes / group / from_to(rng, 1, 2)), group, from_to(rng, 1, 2), from_to(rng, 1, 6));
  } else if (kind == "dragonfly_plus") {
    const int group = one_of(rng, {1, 2, 3});
    keys = fmt::format("groups: {}, leaves_per_group: {}, spines_per_group: {}, local_links: {}, global_links: {}",
                       std::max(1, nodes / group / from_to(rng, 1, 2)), group, from_to(rng, 1, 4), from_to(rng, 1, 2),
                       from_to(rng, 1, 6));
  } else if (kind == "ocs") {
    const int group = one_of(rng, {1, 2, 3});
    keys = fmt::format("pods: [{}, {}], matching: {}, leaves_per_pod: {}, spines_per_pod: {}, cables: {}",
                       std::max(1, nodes / group / from_to(rng, 1, 2)), from_to(rng, 1, 2),
                       one_of<std::string_view>(rng, {"mesh", "torus"}), group, from_to(rng, 1, 4), from_to(rng, 1, 4));
  } else if (kind == "multi_plane") {
    return fmt::format(
        "{{kind: {}, planes: {}, choice: {}, rails: {}, nodes_per_leaf: {},\n  oversubscription: {}, switch: {{ports: "
        "512}}}}",
        kind, one_of(rng, {2, 2, 3, 4, 8}), one_of<std::string_view>(rng, {"packet", "queue_pair"}),
        one_of<std::string_view>(rng, {"true", "false"}), from_to(rng, 1, 4), one_of(rng, {1, 1, 2, 4}));
  } else if (kind == "islands") {
    const int su = from_to(rng, 1, 3);
    return fmt::format(
        "{{kind: {}, nodes_per_su: {}, nodes_per_island: {}, spine_oversubscription: {}, switch: {{ports: 512}}}}",
        one_of<std::string_view>(rng, {"rail_optimized", "rail_optimized", "rail_only"}), su, su * from_to(rng, 1, 3),
        one_of(rng, {1, 3, 7, 15}));
  } else {
    keys = fmt::format("dimensions: [{}, {}, {}], cables: {}, paths: {}", from_to(rng, 1, 5), from_to(rng, 1, 4),
                       from_to(rng, 1, 3), from_to(rng, 1, 4),
                       one_of<std::string_view>(rng, {"minimal", "dimension_order"}));
  }
  return fmt::format("{{kind: {}, {},\n  switch: {{ports: 4096}}}}", kind, keys);
}

RandomScenario sample_scenario(Rng& rng, std::string_view fabric) {
  RandomScenario s;
  const Box& box = once_in(rng, 3) ? one_from(rng, single_boxes) : one_from(rng, boxes);
  const bool single = box.gpus == 1, domain = box.gpu == "gb200" && once_in(rng, 2);
  const int nodes = domain ? 2 * from_to(rng, 1, box.most_nodes / 2) : from_to(rng, single ? 2 : 1, box.most_nodes);
  const int size = nodes + (once_in(rng, 3) ? from_to(rng, 0, nodes) : 0);
  s.node = keys_of(box);
  if (domain) s.domain = "nvlink_domain: {nodes: 2}\n";
  s.cluster = sample_cluster(rng, nodes, size);
  s.fabric = fabric.empty() ? sample_fabric(rng, size, box.gpus) : direct_fabric(rng, fabric, size);
  s.routing = sample_routing(rng, has_detours(fabric));
  s.version = one_of<std::string_view>(rng, {"2.18", "2.22", "2.28", "2.28"});
  const Call call = sample_call(rng, single);
  if (call.algorithm == "pat") s.version = "2.28";
  s.variables = sample_variables(rng, call);
  s.collective = one_from(rng, call.collectives);
  s.bytes = sample_bytes(rng);
  return s;
}

namespace {

std::string sample_link_inside(Rng& rng, const World& world, std::uint32_t host) {
  const NodeGraph& graph = world.planner().comm.node.graph;
  return fmt::format("node{}.{}", host, graph.link_name(static_cast<std::uint16_t>(rng.below(graph.links.size()))));
}

std::string sample_link_outside(Rng& rng, const Fabric& fabric, std::uint32_t host) {
  const std::uint32_t ports = fabric.ports_per_node(), between = fabric.cables() - fabric.endpoints();
  if (between == 0 || once_in(rng, 2))
    return fabric.name(fabric.endpoint(host, static_cast<std::uint32_t>(rng.below(ports))));
  return fabric.name(LinkId(2 * (fabric.endpoints() + static_cast<std::uint32_t>(rng.below(between)))));
}

}  // namespace

std::string sample_faults(Rng& rng, const World& world) {
  const Communicator& comm = world.planner().comm;
  std::string list;
  for (int left = from_to(rng, 1, 2); left > 0; --left) {
    const std::uint32_t host = comm.placement[rng.below(comm.placement.size())];
    const bool outside = world.fabric() && !once_in(rng, 3);
    const std::string link =
        outside ? sample_link_outside(rng, *world.fabric(), host) : sample_link_inside(rng, world, host);
    const bool may_be_down = outside && !link.starts_with("node");
    const int percent = may_be_down && once_in(rng, 4) ? 0 : one_of(rng, {5, 10, 25, 50, 80});
    list += fmt::format("  - {{link: '{}', rate: {}}}\n", link, percent / 100.0);
  }
  return "faults:\n" + list;
}

}  // namespace fabricast::test
