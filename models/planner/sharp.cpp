// What SHARP offers a job on its fabric: a tree of switches for each NIC of a node, and the share of a switch that the
// tree gets if trees take turns. sim/fabric/aggregation.cpp finds the trees; sim/engine/time/sharp_path.cpp times
// messages on them. A service without trees states its reason, which `explain` prints, and NCCL then runs without
// CollNet.
#include "fabricast/planner/sharp.hpp"

#include <fmt/format.h>

#include <map>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

/// Limits of a generation.
struct Limits {
  int trees;           ///< streaming trees of all jobs
  bool one_at_a_time;  ///< a switch serves one tree at a time
};

Limits limits_of(SharpGeneration generation) {
  return generation == SharpGeneration::v2 ? Limits{63, true} : Limits{511, false};
}

// Generations by the rate of a NIC in Gb/s: 800 XDR, 400 NDR, 100 to 200 HDR. EDR switches aggregate only short
// messages, which NCCL does not use; at 100 Gb/s they cannot be distinguished from a split port of HDR (HDR100), so v2
// is assumed. One less than the nominal rate, because rates are converted from bytes.
SharpGeneration generation_of(const Node& node) {
  const double gbps = node.spec.nics.rate.value * 8 / 1e9;
  if (gbps >= 799) return SharpGeneration::v4;
  if (gbps >= 399) return SharpGeneration::v3;
  return gbps >= 99 ? SharpGeneration::v2 : SharpGeneration::none;
}

SharpService without(std::string why) {
  SharpService service;
  service.without = std::move(why);
  return service;
}

}  // namespace

void visit_fields(FieldVisitor& visit, SharpSpec& spec) {
  visit("generation", spec.generation,
        "SHARP generation of the switches: auto (by the link rate), none, v2 (HDR), v3 (NDR), v4 (XDR)");
  visit("other_trees", spec.other_trees, "trees of other jobs on the same switches", between(0, 1024));
  visit("streaming_from", spec.streaming_from,
        "shortest message that streams; shorter ones use low-latency trees (SHARP_COLL_SAT_THRESHOLD)", at_least(0));
}

SharpService sharp_service(const SharpSpec& spec, const Communicator& comm, const Fabric* fabric) {
  const LinkKind link = comm.node.spec.nics.link;
  if (link != LinkKind::infiniband) {
    // A generation that a user states must be possible. `auto` on another network only means that there is no SHARP.
    if (spec.generation > SharpGeneration::none)
      throw UserError::at("sharp.generation", fmt::format("{} does not support SHARP", name_of(link)),
                          "only InfiniBand switches reduce data; use auto or none");
    return without(fmt::format("{} does not support SHARP", name_of(link)));
  }
  const SharpGeneration generation =
      spec.generation == SharpGeneration::automatic ? generation_of(comm.node) : spec.generation;
  if (generation == SharpGeneration::none) return without("the switches do not stream reductions");
  if (comm.nodes() < 2 || !fabric) return without("there is only one node");
  const Limits limits = limits_of(generation);
  // Trees are a resource of the whole fabric, so those of other jobs count, wherever they are.
  const auto nics = static_cast<std::uint32_t>(comm.node.nics);
  if (static_cast<int>(nics) + spec.other_trees > limits.trees)
    return without(fmt::format("SHARP {} has {} trees: {} are in use, and the job needs {}", name_of(generation),
                               limits.trees, spec.other_trees, nics));
  SharpService service;
  service.streaming_from = spec.streaming_from.value;
  // Trees of this job that meet in a switch: on a fat tree all NICs of a node share a leaf, on rails none do.
  std::map<VertexId, int> in_switch;
  int most = 0;
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    std::vector<std::uint32_t> endpoints;
    for (std::uint32_t node = 0; node < static_cast<std::uint32_t>(comm.nodes()); ++node)
      endpoints.push_back(comm.endpoint(node, nic, fabric->ports_per_node()));
    service.trees.push_back(aggregation_tree(*fabric, endpoints, nic));
    if (service.trees.back().links.empty()) return without("no tree of switches connects the nodes");
    for (const VertexId v : service.trees.back().switches) most = std::max(most, ++in_switch[v]);
  }
  // The busiest switch limits the rate. Other jobs' trees are assumed to pass it.
  if (limits.one_at_a_time) service.share = 1.0 / (most + spec.other_trees);
  return service;
}

}  // namespace fabricast
