// What a real fabric's tools print: one entry reads all formats, told by their content; what it finds goes all the way to a
// fabric file, and tables to routes.
#include <cstdint>
#include <set>
#include <sstream>

#include "fabricast/discover/check_paths.hpp"
#include "fabricast/discover/fabric.hpp"
#include "fabricast/discover/forwarding.hpp"
#include "fabricast/discover/infragraph.hpp"
#include "fabricast/discover/slurm.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

namespace {

void look_at(const FileProblems& problems, std::string_view text) {
  int before = 0;
  require(problems.failed() == !problems.errors().empty());
  for (const Diagnostic& d : problems.errors()) {
    require(d.where.line >= before && d.where.line > 0);
    require_stated(d, text);
    before = d.where.line;
  }
}

/// The words of a text as ends of edges: instance, component, and again.
InfraGraph graph_of(const std::string& text) {
  InfraGraph graph;
  graph.devices = {{"server", {{"xpu", "xpu", 2}, {"nic", "nic", 2}, {"card", "device", 2}}},
                   {"card", {{"port", "port", 2}}},
                   {"switch", {{"port", "port", 16}, {"switch", "device", 2}}}};
  graph.instances = {{"host", "server", 4, 1}, {"leaf", "switch", 2, 2}};
  graph.links = {{"link", BytesPerSecond{1e9}}};
  std::istringstream words(text);
  InfraEdge edge;
  edge.link = "link", edge.line = edge.a.line = edge.b.line = 1, edge.a.column = edge.b.column = 1;
  while (words >> edge.a.instance >> edge.a.component >> edge.b.instance >> edge.b.component &&
         graph.edges.size() < 8) {
    edge.scheme = graph.edges.size() % 2 ? "many2many" : "one2one";
    graph.edges.push_back(edge);
  }
  return graph;
}

/// What holds of a fabric that was read without faults.
void look_at(FileFabric fabric) {
  std::vector<Diagnostic> warnings;
  choose_hosts(fabric, 0, {}, warnings);
  order_hosts(fabric, {"node1", "dgx2"}, warnings);
  find_tiers(fabric, warnings);
  std::set<std::string> switches;
  for (const FileFabricSwitch& s : fabric.switches) require(switches.insert(s.name).second);
  for (const FileFabricLink& link : fabric.links) require(switches.contains(link.to) && link.count > 0);
  fabric_findings(fabric);
  require_clean(fabric_text(fabric));
  require_clean(fabric_yaml(fabric));
  if (fabric.hosts.empty() || fabric.hosts.size() > 64) return;
  ForwardingTables tables;
  for (const FileFabricSwitch& s : fabric.switches) {
    ForwardingTable& table = tables.switches.emplace_back();
    table.guid = s.guid, table.lid = s.lid;
    for (int lid = 0; lid < 64; ++lid) table.port_of_lid.push_back(static_cast<std::uint8_t>(lid % 5));
  }
  try {
    const PathsChecked checked = check_paths(fabric, tables);
    require(checked.broken <= checked.routes);
  } catch (const UserError& e) { require_stated(e, {}); }
}

}  // namespace

void read_discover(std::string_view bytes) {
  const std::string text(bytes);
  std::istringstream in(text);
  FileProblems problems("file");
  if (const auto format = subnet_format(text)) {
    const DiscoveredSubnet subnet = read_subnet(*format, in, problems);
    for (const SubnetCable& cable : subnet.cables) {
      require(cable.a.device < subnet.devices.size() && cable.b.device < subnet.devices.size());
      require(cable.rate.value > 0 && cable.line > 0);
    }
    std::vector<Diagnostic> warnings;
    FileFabric fabric = fabric_of_subnets({subnet}, warnings);
    if (!problems.failed()) look_at(std::move(fabric));
  } else if (is_slurm_topology(text)) {
    const SlurmTopology topology = read_slurm_topology(in, problems);
    // Large lists take long, and show nothing new.
    if (!problems.failed() && topology.hosts().size() < 2000) look_at(fabric_of_slurm(topology, 2, 1.5));
  } else if (text.starts_with("graph ")) {
    FileFabric fabric = fabric_of_infragraph(graph_of(text.substr(6)), problems);
    if (!problems.failed()) look_at(std::move(fabric));
  } else {
    const ForwardingTables tables = read_forwarding_tables(in, problems);
    for (const ForwardingTable& table : tables.switches) require(table.port_of_lid.size() <= 0xC000);
  }
  look_at(problems, text);
}

}  // namespace fabricast::fuzz
