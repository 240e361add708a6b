// Reads the files of a fabric in any of the formats of docs/imports.md, recognized by their content. Parsers are in
// sim/discover; this file selects one and joins their results to a FileFabric, as our own format gives it.
#include "fabricast/scenario/fabric_file.hpp"

#include <fmt/format.h>

#include <sstream>

#include "fabricast/discover/fabric.hpp"
#include "fabricast/discover/slurm.hpp"
#include "infragraph_reader.hpp"
#include "slurm_yaml.hpp"
#include "yaml_reader.hpp"

namespace fabricast {

namespace {

// InfraGraph [InfraGraph].
FileFabric read_graph(const YamlView& root, const std::string& file, FabricFileResult& result) {
  FileProblems problems(file);
  const InfraGraph graph = read_infragraph(root, problems);
  problems.check();
  FileFabric fabric = fabric_of_infragraph(graph, problems);
  problems.check();
  result.warnings = problems.warnings();
  if (fabric.hosts.empty())
    throw UserError(fmt::format("{}: no host has both an xpu and a NIC that is connected to a switch", file));
  return fabric;
}

// Positions of keys are kept, since later errors (a cable to an unknown switch) refer to them.
FileFabric read_own(YamlTree& tree, const NamedText& named, FabricFileResult& result) {
  // `[a, b]` is a short form of `[{name: a}, {name: b}]`.
  tree.spell_out(tree.root().find("switches"), "name");
  if (const YamlView hosts = tree.root().find("hosts"); hosts.sequence())
    for (std::size_t i = 0; i < hosts.size(); ++i)
      if (hosts.at(i).map()) tree.spell_out(hosts.at(i).find("nics"), "name");
  YamlReader reader(tree.root(), named.file, {});
  FileFabric fabric;
  visit_fields(reader, fabric);
  reader.finish();
  for (std::size_t i = 0; i < fabric.switches.size(); ++i) {
    // GUIDs are compared with those of forwarding tables, so all have one spelling.
    std::string& guid = fabric.switches[i].guid;
    if (guid.empty()) continue;
    const auto digits = guid_digits(guid);
    if (digits)
      guid = *digits;
    else
      reader.add({Diagnostic::Severity::error,
                  {},
                  fmt::format("switches[{}].guid", i),
                  "is not a GUID",
                  "write up to 16 hexadecimal digits"});
  }
  result.places = reader.places();
  if (reader.failed()) throw UserError(reader.take_diagnostics());
  return fabric;
}

// Each plane of a multi-plane fabric is a subnet with a scan of its own. Hosts of the same name in several scans are
// one host.
FileFabric read_subnets(const std::vector<NamedText>& texts, FabricFileResult& result) {
  std::vector<DiscoveredSubnet> subnets;
  std::vector<Diagnostic> errors;
  for (const NamedText& named : texts) {
    const auto format = subnet_format(named.text);
    if (!format)
      throw UserError(fmt::format("{}: not the output of ibnetdiscover or iblinkinfo", named.file),
                      "several files are read together only if each is a scan of a subnet");
    result.format = *format == SubnetFormat::iblinkinfo ? "iblinkinfo" : "ibnetdiscover";
    std::istringstream in(named.text);
    FileProblems problems(named.file);
    subnets.push_back(read_subnet(*format, in, problems));
    for (Diagnostic& d : problems.errors()) errors.push_back(std::move(d));
    for (Diagnostic& d : problems.warnings()) result.warnings.push_back(std::move(d));
  }
  if (!errors.empty()) throw UserError(std::move(errors));
  FileFabric fabric = fabric_of_subnets(subnets, result.warnings);
  if (fabric.switches.empty()) throw UserError(fmt::format("{}: the file has no switches", texts.front().file));
  return fabric;
}

// Slurm knows switches and hosts, but no cables: uplinks follow from the stated oversubscription.
FileFabric sketch_slurm(const NamedText& named, const FabricFileOptions& options) {
  return fabric_of_slurm(read_slurm(named), std::max(1, options.nics), options.oversubscription);
}

}  // namespace

SlurmTopology read_slurm(const NamedText& named) {
  FileProblems problems(named.file);
  std::istringstream in(named.text);
  SlurmTopology topology =
      is_slurm_yaml(named.text) ? read_slurm_yaml(named.text, problems) : read_slurm_topology(in, problems);
  problems.check();
  return topology;
}

FabricFileResult read_fabric_file(const std::vector<NamedText>& texts, const FabricFileOptions& options) {
  FabricFileResult result;
  const NamedText& first = texts.front();
  const bool subnets = texts.size() > 1 || subnet_format(first.text).has_value();
  const bool slurm = !subnets && (is_slurm_topology(first.text) || is_slurm_yaml(first.text));
  bool graph = false;
  if (subnets) {
    result.fabric = read_subnets(texts, result);
  } else if (slurm) {
    result.format = "topology.conf";
    result.fabric = sketch_slurm(first, options);
  } else {
    YamlTree tree =
        parse_yaml_tree(first.text, first.file, "e.g. switches: [tor0] and links: [{from: node0.nic0, to: tor0}]");
    graph = is_infragraph(tree.root());
    result.format = graph ? "InfraGraph" : "fabric file";
    result.fabric = graph ? read_graph(tree.root(), first.file, result) : read_own(tree, first, result);
  }
  const bool any = !result.fabric.hosts.empty();
  // Hosts of a Slurm file have no NICs to select. Selecting precedes ordering, so numbers are those of the hosts that
  // remain.
  if (!slurm) choose_hosts(result.fabric, options.nics, options.names, result.warnings);
  if (any && result.fabric.hosts.empty())
    throw UserError(
        options.nics > 0 ? fmt::format("{}: no host has {} NIC ports", first.file, options.nics)
                         : fmt::format("{}: no host has the NICs that fabric.nics names", first.file),
        "node.nics.count is the number of NIC ports of a host; fabric.nics selects NICs of the file by name");
  if (!options.order.empty()) order_hosts(result.fabric, options.order, result.warnings);
  // Other formats state the tiers.
  if (subnets || graph) find_tiers(result.fabric, result.warnings);
  for (Diagnostic& w : result.warnings)
    if (w.where.file.empty()) w.where.file = first.file;
  return result;
}

}  // namespace fabricast
