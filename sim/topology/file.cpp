// A fabric given switch by switch and cable by cable in a file (`fabric: {kind: file, path: fabric.yaml}`).
//
//   switches: [tor0, tor1, agg0]                     # or [{name: tor0, tier: leaf}]
//   links:
//     - {from: node0.nic0, to: tor0}                 # rate, latency and count have defaults
//     - {from: tor0, to: agg0, rate: 400Gbps, latency: 300ns, count: 2}
//
// `from` is the end nearer to the nodes. Rates are line rates; header efficiency is that of the NICs' link kind.
// The file itself is read by sim/scenario, which fills in the lists here.
#include "fabricast/topology/file.hpp"

#include <fmt/format.h>

#include <map>

#include "fabricast/core/error.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, FileFabricSwitch& s) {
  visit("name", s.name, "name of the switch");
  visit("tier", s.tier, "leaf, spine or core; only for display");
}

void visit_fields(FieldVisitor& visit, FileFabricLink& link) {
  visit("from", link.from, "node3.nic2 or a switch: the end nearer to the nodes");
  visit("to", link.to, "a switch");
  visit("rate", link.rate, "line rate of each direction", line_rates);
  visit("latency", link.latency, "of each direction: propagation, and the switch entered if it is one", between(0, 1));
  visit("count", link.count, "parallel cables", between(1, 4096));
}

void visit_fields(FieldVisitor& visit, FileFabricSpec& spec) {
  visit_basics(visit, spec);
  visit("path", spec.path, "file with `switches` and `links`, relative to the scenario");
}

Fabric build(const FileFabricSpec& spec, const FabricDemand& demand) {
  std::vector<Diagnostic> faults;
  const auto refuse = [&](std::string path, std::string message) {
    faults.push_back({Diagnostic::Severity::error, {}, std::move(path), std::move(message), {}});
  };
  FabricBuilder builder(demand.nodes, demand.ports_per_node);
  std::map<std::string, VertexId> vertex;
  for (std::uint32_t n = 0; n < demand.nodes; ++n)
    for (std::uint32_t p = 0; p < demand.ports_per_node; ++p)
      vertex[fmt::format("node{}.nic{}", n, p)] = VertexId(n * demand.ports_per_node + p);
  for (const Tier tier : {Tier::leaf, Tier::spine, Tier::core})
    for (std::size_t i = 0; i < spec.switches.size(); ++i) {
      const FileFabricSwitch& s = spec.switches[i];
      if (s.tier != tier) continue;
      if (vertex.count(s.name)) refuse(fmt::format("switches[{}]", i), fmt::format("'{}' is there twice", s.name));
      vertex[s.name] = builder.add_switch(tier, s.name);
    }
  std::vector<int> cables_of_port(std::size_t{demand.nodes} * demand.ports_per_node, 0);
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const FileFabricLink& link = spec.links[i];
    const auto from = vertex.find(link.from), to = vertex.find(link.to);
    const std::string path = fmt::format("links[{}]", i);
    if (from == vertex.end()) refuse(path + ".from", fmt::format("there is no '{}'", link.from));
    if (to == vertex.end()) refuse(path + ".to", fmt::format("there is no '{}'", link.to));
    if (from == vertex.end() || to == vertex.end()) continue;
    const bool port = from->second.value < cables_of_port.size();
    if (to->second.value < cables_of_port.size()) refuse(path + ".to", "must be a switch");
    if (link.from == link.to) refuse(path, fmt::format("'{}' is joined to itself", link.from));
    if (port) cables_of_port[from->second.value] += link.count;
    const BytesPerSecond line = link.rate.value > 0 ? link.rate : port ? demand.port_rate : spec.switch_box.rate;
    const Seconds wire = propagation(spec.cable), hop = wire + spec.switch_box.latency;
    const auto latency = [&](Seconds usual) { return link.latency.value >= 0 ? link.latency : usual; };
    const BytesPerSecond rate = line * (demand.header_efficiency * (port ? demand.nic_efficiency : 1));
    const LinkClass up{demand.kind, rate, latency(hop)}, down{demand.kind, rate, latency(port ? wire : hop)};
    for (int c = 0; c < link.count; ++c) builder.add_cable(from->second, to->second, up, down);
  }
  for (std::size_t e = 0; e < cables_of_port.size(); ++e)
    if (cables_of_port[e] != 1)
      refuse("links", fmt::format("node{}.nic{} has {}; every NIC port has one", e / demand.ports_per_node,
                                  e % demand.ports_per_node,
                                  cables_of_port[e] ? fmt::format("{} cables", cables_of_port[e]) : "no cable"));
  if (faults.size() > 20) faults.resize(20);
  if (!faults.empty()) {
    for (Diagnostic& d : faults) d.where.file = spec.path;
    throw UserError(std::move(faults));
  }
  return std::move(builder).build();
}

Topology file() {
  return make_topology<FileFabricSpec>("file", "switches and cables listed in a YAML or JSON file", "");
}

}  // namespace fabricast
