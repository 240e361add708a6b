// A fabric file determines more than cables: the hosts, their number and their names. It is read after all fields,
// because its reader needs the number of NICs of the node.
#include "read_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/discover/forwarding.hpp"
#include "fabricast/discover/hostlist.hpp"
#include "fabricast/scenario/fabric_file.hpp"
#include "named_file.hpp"

namespace fabricast {

namespace {

Diagnostic at(std::string path, std::string message, std::string hint) {
  return {Diagnostic::Severity::error, {}, std::move(path), std::move(message), std::move(hint)};
}

/// Warns if the rate of the NICs differs between the node, which the planner uses, and the fabric file.
void check_rates(const Scenario& s, const FileFabric& fabric, std::vector<Diagnostic>& warnings) {
  const double own = s.node.spec.nics.rate.value;
  std::unordered_set<std::string> ports;
  for (const FileFabricHost& host : fabric.hosts)
    for (const FileFabricNic& nic : host.nics) ports.insert(host.name + "." + nic.name);
  std::size_t others = 0, links = 0;
  BytesPerSecond other{0};
  for (const FileFabricLink& link : fabric.links) {
    if (!ports.contains(link.from) || link.rate.value <= 0) continue;
    ++links;
    if (std::abs(link.rate.value - own) > 0.01 * own) {
      ++others;
      other = link.rate;
    }
  }
  // Single degraded cables are what such files are for. Most links at another rate mean that the scenario describes
  // another machine.
  if (2 * others <= links) return;
  Diagnostic d = at("node.nics.rate",
                    fmt::format("is {}, but most NIC links in the fabric file run at {}",
                                to_text(s.node.spec.nics.rate), to_text(other)),
                    "set the rate of the file, unless these links are degraded");
  d.severity = Diagnostic::Severity::warning;
  warnings.push_back(std::move(d));
}

/// Reads the file. Errors without a position in it refer to the key `fabric.path`.
FabricFileResult read_file_of_fabric(const std::string& file, const FabricFileOptions& options) {
  const std::string text = read_named("fabric.path", file);
  try {
    return read_fabric_file({{file, text}}, options);
  } catch (const UserError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& d : faults)
      if (d.path.empty() && d.where.file.empty()) d.path = "fabric.path";
    throw UserError(std::move(faults));
  }
}

/// Reads the fabric file, and sets what it determines of the cluster: the hosts, their order and number.
void read_fabric(Scenario& s, FileFabricSpec& spec, YamlReader& reader, std::vector<Diagnostic>& warnings) {
  if (spec.path.empty())
    return reader.add(at("fabric.path", "no file is given", "write fabric: {kind: file, path: fabric.yaml}"));
  const std::string file = beside(s.file, spec.path);
  FabricFileOptions options;
  options.nics = s.node.spec.nics.count;
  options.names = spec.nics;
  options.oversubscription = spec.oversubscription;
  FabricFileResult read = read_file_of_fabric(file, options);
  // With cables, the oversubscription follows from them.
  if (read.format != "topology.conf" && spec.oversubscription != 1)
    reader.add(at("fabric.oversubscription", "is only for files without cables", "such as topology.conf of Slurm"));
  if (!spec.nics.empty() && read.fabric.hosts.empty())
    reader.add(at("fabric.nics", "the fabric file has no host names", "see `hosts` in docs/formats.md"));
  // From here on the path is that of the file, not relative to the scenario: it is compared and printed.
  spec.path = file;
  s.fabric_places = std::move(read.places);
  for (Diagnostic& w : read.warnings) warnings.push_back(std::move(w));
  if (s.cluster.size == 0 && !read.fabric.hosts.empty()) s.cluster.size = static_cast<int>(read.fabric.hosts.size());
  check_rates(s, read.fabric, warnings);
  // The spec of the topology keeps its keys and takes over the cables.
  static_cast<FileFabric&>(spec) = std::move(read.fabric);
}

/// `cluster.hosts`: the job's hosts by the names of the fabric file.
void place_by_name(Scenario& s, YamlReader& reader) {
  ClusterSpec& c = s.cluster;
  if (c.hosts.empty()) return;
  const auto* file = std::any_cast<FileFabricSpec>(&s.fabric.spec);
  if (!file || file->hosts.empty())
    return reader.add(at("cluster.hosts", "the fabric has no host names", "use a fabric file with `hosts`"));
  for (const char* key : {"cluster.placement", "cluster.order"})
    if (reader.given(key)) reader.add(at(key, "cannot be combined with cluster.hosts", "give one of them"));
  const Hostlist list = expand_hostlist(c.hosts);
  if (!list.error.empty()) return reader.add(at("cluster.hosts", list.error, "e.g. dgx[001-016]"));
  std::unordered_map<std::string_view, int> number;
  std::vector<std::string_view> names;
  for (const FileFabricHost& host : file->hosts) {
    number.emplace(host.name, static_cast<int>(number.size()));
    names.push_back(host.name);
  }
  std::vector<int> order;
  for (const std::string& name : list.names) {
    const auto it = number.find(name);
    if (it == number.end())
      return reader.add(at("cluster.hosts", fmt::format("the fabric has no host '{}'", name),
                           suggestion(name, std::span(names).first(std::min<std::size_t>(names.size(), 1000)))));
    order.push_back(it->second);
  }
  // Names become the numbers of a list, which is what the allocation knows.
  c.placement = Placement::list;
  c.order = std::move(order);
  if (!reader.given("cluster.nodes")) c.nodes = static_cast<int>(c.order.size());
}

/// The forwarding tables of `routing: {kind: lft}`.
void read_tables(const Scenario& s, LftSpec& spec, YamlReader& reader) {
  if (spec.path.empty())
    return reader.add(at("routing.path", "no file is given", "write routing: {kind: lft, path: lfts.dump}"));
  const std::string file = beside(s.file, spec.path);
  std::ifstream in = open_named("routing.path", file);
  FileProblems problems(file);
  // Shared, since copies of a scenario are made for every change, and tables of large fabrics are large.
  spec.tables = std::make_shared<ForwardingTables>(read_forwarding_tables(in, problems));
  spec.path = file;
  problems.check();
}

}  // namespace

void read_fabric_files(Scenario& s, YamlReader& reader, std::vector<Diagnostic>& warnings) {
  if (auto* file = std::any_cast<FileFabricSpec>(&s.fabric.spec)) read_fabric(s, *file, reader, warnings);
  if (auto* lft = std::any_cast<LftSpec>(&s.routing.spec)) read_tables(s, *lft, reader);
  if (!is_default(s.fabric.congestion) && s.network.engine == EngineKind::chunk)
    reader.add(
        at("fabric.congestion", "the chunk engine supports only the ideal model of congestion", "use engine: flow"));
  // Only for a scenario without faults so far: a fabric that was not read has no host names, and would add a misleading
  // error.
  if (!reader.failed()) place_by_name(s, reader);
}

}  // namespace fabricast
