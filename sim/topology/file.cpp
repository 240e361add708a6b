// A fabric that a file lists switch by switch and cable by cable (`fabric: {kind: file, path: fabric.yaml}`).
//
//   hosts: [{name: dgx01, nics: [mlx5_0]}]           # optional; default: node0.nic0 and so on
//   switches: [tor0, tor1, agg0]                     # or [{name: tor0, tier: leaf}]
//   links:
//     - {from: node0.nic0, to: tor0}                 # rate, latency and count have defaults
//     - {from: tor0, to: agg0, rate: 400Gbps, latency: 300ns, count: 2}
//
// `from` is the end nearer to the nodes. Rates are line rates. Header efficiency is that of the NICs' kind of link.
// sim/scenario reads the file and fills in the lists.
#include "fabricast/topology/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {
constexpr int most_lids = 0xBFFF;       // the highest unicast LID [IBTA-spec]
constexpr int most_switch_ports = 254;  // 255 means "no port" in a forwarding table [IBTA-spec]
// A link stores its class in one byte.
constexpr std::size_t most_classes = 250;
}  // namespace

void visit_fields(FieldVisitor& visit, FileFabricNic& nic) {
  visit("name", nic.name, "name of the NIC port, without the name of the host");
  visit("lid", nic.lid, "LID of the port; 0: not stated", between(0, most_lids));
  visit("lmc", nic.lmc, "LID mask control: the port answers to 2^lmc LIDs", between(0, 7));
}

void visit_fields(FieldVisitor& visit, FileFabricHost& host) {
  visit("name", host.name, "name of the host; hosts are numbered in the order of the list");
  visit("nics", host.nics, "NIC ports of the host, in the order of node.nics");
}

void visit_fields(FieldVisitor& visit, FileFabricSwitch& s) {
  visit("name", s.name, "name of the switch");
  visit("tier", s.tier, "leaf, spine or core; only for display");
  visit("guid", s.guid, "GUID, 16 hexadecimal digits, by which forwarding tables identify the switch");
  visit("lid", s.lid, "LID of the management port; 0: not stated", between(0, most_lids));
}

void visit_fields(FieldVisitor& visit, FileFabricLink& link) {
  visit("from", link.from, "node3.nic2, dgx04.mlx5_2 or a switch: the end nearer to the nodes");
  visit("to", link.to, "a switch");
  visit("rate", link.rate, "line rate of each direction", line_rates);
  visit("latency", link.latency, "of each direction: propagation, and the switch at its end, if any", between(0, 1));
  visit("count", link.count, "number of parallel cables", between(1, 4096));
  visit("from_port", link.from_port, "port of the switch `from`, as in forwarding tables; 0: not stated",
        between(0, most_switch_ports));
  visit("to_port", link.to_port, "port of the switch `to`", between(0, most_switch_ports));
}

void visit_fields(FieldVisitor& visit, FileFabric& fabric) {
  visit("hosts", fabric.hosts, "hosts by name, with their NIC ports");
  visit("switches", fabric.switches, "the switches");
  visit("links", fabric.links, "the cables");
}

void visit_fields(FieldVisitor& visit, FileFabricSpec& spec) {
  visit_basics(visit, spec);
  visit("path", spec.path,
        "file with `switches` and `links`, or the output of ibnetdiscover or iblinkinfo, Slurm's topology.conf, or an "
        "InfraGraph; relative to the scenario");
  visit("nics", spec.nics, "NIC ports in use of the hosts that the file names, by name; empty: all");
  visit("oversubscription", spec.oversubscription, "down : up of each switch, for files that do not list cables",
        between(1, 64));
}

namespace {

class FileBuilder {
 public:
  FileBuilder(const FileFabricSpec& spec, const FabricDemand& demand)
      : spec_(spec),
        file_(spec),
        demand_(demand),
        builder_(demand.nodes, demand.ports_per_node),
        cables_of_port_(std::size_t{demand.nodes} * demand.ports_per_node, 0) {}

  Fabric build() {
    add_hosts();
    add_switches();
    for (std::size_t i = 0; i < file_.links.size(); ++i) add_link(i);
    // Cables of NIC ports come first, in the order of ports, as on all other fabrics: link 2e is that of port e.
    std::stable_sort(cables_.begin(), cables_.end(), [&](const Cable& a, const Cable& b) { return rank(a) < rank(b); });
    for (const Cable& cable : cables_) {
      builder_.add_cable(cable.from, cable.to, cable.up, cable.down);
      // Two entries per cable, as links are numbered: up, then down.
      subnet_.port_of_link.push_back(cable.from_port);
      subnet_.port_of_link.push_back(cable.to_port);
    }
    for (std::size_t e = 0; e < cables_of_port_.size(); ++e)
      if (cables_of_port_[e] != 1)
        refuse("links", fmt::format("{} has {}; every NIC port needs exactly one", endpoint_name(e),
                                    cables_of_port_[e] ? fmt::format("{} cables", cables_of_port_[e]) : "no cable"));
    // One wrong name can cause an error for each cable. The first ones are enough.
    if (faults_.size() > 20) faults_.resize(20);
    if (!faults_.empty()) {
      for (Diagnostic& d : faults_) d.where.file = spec_.path;
      throw UserError(std::move(faults_));
    }
    if (stated_) builder_.set_subnet(std::move(subnet_));
    return std::move(builder_).build();
  }

 private:
  void refuse(std::string path, std::string message, std::string hint = {}) {
    faults_.push_back({Diagnostic::Severity::error, {}, std::move(path), std::move(message), std::move(hint)});
  }

  std::string endpoint_name(std::size_t e) const {
    const std::size_t node = e / demand_.ports_per_node, port = e % demand_.ports_per_node;
    if (named()) return file_.hosts[node].name + "." + file_.hosts[node].nics[port].name;
    return fmt::format("node{}.nic{}", node, port);
  }
  /// Whether the file names the hosts, and they match the cluster.
  bool named() const { return !file_.hosts.empty() && hosts_fit_; }

  void add_hosts() {
    const std::uint32_t ports = demand_.ports_per_node;
    subnet_.of_vertex.resize(cables_of_port_.size());
    for (std::uint32_t n = 0; n < demand_.nodes; ++n)
      for (std::uint32_t p = 0; p < ports; ++p) vertex_[fmt::format("node{}.nic{}", n, p)] = VertexId(n * ports + p);
    if (file_.hosts.empty()) return;
    if (file_.hosts.size() < demand_.nodes) {
      hosts_fit_ = false;
      return refuse("hosts", fmt::format("only {} hosts for {} nodes", file_.hosts.size(), demand_.nodes),
                    fmt::format("cluster.nodes and cluster.size may be at most {}", file_.hosts.size()));
    }
    for (std::uint32_t n = 0; n < demand_.nodes; ++n)
      if (file_.hosts[n].nics.size() != ports) {
        hosts_fit_ = false;
        refuse(fmt::format("hosts[{}].nics", n),
               fmt::format("'{}' has {} NIC ports, but nodes of the scenario have {}", file_.hosts[n].name,
                           file_.hosts[n].nics.size(), ports),
               "node.nics.count is the number of ports; fabric.nics selects ports of the file");
      }
    if (!hosts_fit_) return;
    std::vector<std::string> nodes, names;
    for (std::uint32_t n = 0; n < demand_.nodes; ++n) {
      const FileFabricHost& host = file_.hosts[n];
      nodes.push_back(host.name);
      if (!hosts_.insert(host.name).second)
        refuse(fmt::format("hosts[{}].name", n), fmt::format("duplicate name '{}'", host.name));
      for (std::uint32_t p = 0; p < ports; ++p) {
        const FileFabricNic& nic = host.nics[p];
        names.push_back(nic.name);
        const VertexId vertex(n * ports + p);
        const auto [it, fresh] = vertex_.emplace(host.name + "." + nic.name, vertex);
        if (!fresh && it->second.value != vertex.value)
          refuse(fmt::format("hosts[{}].nics[{}]", n, p), fmt::format("duplicate name '{}'", it->first));
        subnet_.of_vertex[vertex.value] = {nic.lid, nic.lmc, {}};
        stated_ = stated_ || nic.lid > 0;
      }
    }
    for (std::size_t n = demand_.nodes; n < file_.hosts.size(); ++n)
      for (const FileFabricNic& nic : file_.hosts[n].nics) left_out_.insert(file_.hosts[n].name + "." + nic.name);
    builder_.name_nodes(std::move(nodes), std::move(names));
  }

  void add_switches() {
    // FabricBuilder numbers switches tier by tier; the file may list them in any order.
    for (const Tier tier : {Tier::leaf, Tier::spine, Tier::core})
      for (std::size_t i = 0; i < file_.switches.size(); ++i) {
        const FileFabricSwitch& s = file_.switches[i];
        if (s.tier != tier) continue;
        const VertexId vertex = builder_.add_switch(tier, s.name);
        if (!vertex_.emplace(s.name, vertex).second)
          refuse(fmt::format("switches[{}]", i), fmt::format("duplicate name '{}'", s.name));
        if (s.name.empty()) refuse(fmt::format("switches[{}]", i), "the switch has no name");
        subnet_.of_vertex.push_back({s.lid, 0, s.guid});
      }
  }

  void add_link(std::size_t i) {
    const FileFabricLink& link = file_.links[i];
    const auto from = vertex_.find(link.from), to = vertex_.find(link.to);
    const std::string path = fmt::format("links[{}]", i);
    // Cables of hosts that are not in use are ignored.
    if (from == vertex_.end() && is_left_out(link.from)) return;
    if (from == vertex_.end()) refuse(path + ".from", fmt::format("unknown name '{}'", link.from));
    if (to == vertex_.end()) refuse(path + ".to", fmt::format("unknown name '{}'", link.to));
    if (from == vertex_.end() || to == vertex_.end()) return;
    const bool port = from->second.value < cables_of_port_.size();
    if (to->second.value < cables_of_port_.size()) refuse(path + ".to", "must be a switch");
    if (link.from == link.to) refuse(path, fmt::format("'{}' is connected to itself", link.from));
    if (link.count > 1 && (link.from_port > 0 || link.to_port > 0))
      refuse(path + ".count", "several cables cannot have the same port", "list each cable separately");
    if (port) cables_of_port_[from->second.value] += link.count;
    // What a cable does not state is that of the NICs or of the fabric's switches. The latency includes the switch that
    // the link enters; a NIC has none.
    const BytesPerSecond line = link.rate.value > 0 ? link.rate : port ? demand_.port_rate : spec_.switch_box.rate;
    const Seconds wire = propagation(spec_.cable), hop = wire + spec_.switch_box.latency;
    const auto latency = [&](Seconds usual) { return link.latency.value >= 0 ? link.latency : usual; };
    const BytesPerSecond rate = line * (demand_.header_efficiency * (port ? demand_.nic_efficiency : 1));
    const LinkClass up{demand_.kind, rate, latency(hop)}, down{demand_.kind, rate, latency(port ? wire : hop)};
    if (!count_classes(up, down))
      return refuse(path, "more than 250 different combinations of rate and latency", "round rates and latencies");
    for (int c = 0; c < link.count; ++c)
      cables_.push_back({from->second, to->second, up, down, static_cast<std::uint8_t>(port ? 0 : link.from_port),
                         static_cast<std::uint8_t>(link.to_port)});
  }

  /// Whether a name belongs to a host that is not in use. If the hosts do not match the cluster, all names do, so that
  /// one error is not followed by many.
  bool is_left_out(const std::string& name) const {
    return !file_.hosts.empty() && (!hosts_fit_ || left_out_.contains(name));
  }

  bool count_classes(const LinkClass& up, const LinkClass& down) {
    for (const LinkClass& c : {up, down})
      if (std::find(classes_.begin(), classes_.end(), c) == classes_.end()) classes_.push_back(c);
    return classes_.size() <= most_classes;
  }

  struct Cable {
    VertexId from, to;
    LinkClass up, down;
    std::uint8_t from_port, to_port;
  };
  std::size_t rank(const Cable& cable) const { return std::min<std::size_t>(cable.from.value, cables_of_port_.size()); }

  const FileFabricSpec& spec_;
  const FileFabric& file_;
  const FabricDemand& demand_;
  FabricBuilder builder_;
  std::vector<Cable> cables_;
  std::vector<int> cables_of_port_;
  std::unordered_map<std::string, VertexId> vertex_;
  std::unordered_set<std::string> hosts_, left_out_;
  std::vector<LinkClass> classes_;
  Subnet subnet_;
  bool stated_ = false, hosts_fit_ = true;
  std::vector<Diagnostic> faults_;
};

}  // namespace

Fabric build(const FileFabricSpec& spec, const FabricDemand& demand) { return FileBuilder(spec, demand).build(); }

Topology file() {
  return make_topology<FileFabricSpec>(
      "file", "switches and cables from a file: YAML or JSON, ibnetdiscover, iblinkinfo, Slurm's topology.conf", "");
}

}  // namespace fabricast
