// Hosts, NICs and switches with their names, from the devices of subnets (discover/fabric.hpp).
//
// Descriptions of devices are free text that administrators and drivers set. Two words are a host and a NIC, the form
// that drivers write; switches have the form of managed switches; anything else keeps its text or gets the GUID as its
// name. Cables to anything but switches, routers and aggregation nodes are left out with a warning.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "fabricast/core/scan.hpp"
#include "fabricast/discover/fabric.hpp"

namespace fabricast {

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  const auto digits = [](std::string_view text) {
    std::size_t size = 0;
    while (size < text.size() && is_digit(text[size])) ++size;
    return size;
  };
  while (!a.empty() && !b.empty()) {
    const std::size_t in_a = digits(a), in_b = digits(b);
    if (in_a > 0 && in_b > 0) {
      // Numbers of any length, compared as text without leading zeros.
      std::string_view x = a.substr(0, in_a), y = b.substr(0, in_b);
      while (x.size() > 1 && x.front() == '0') x.remove_prefix(1);
      while (y.size() > 1 && y.front() == '0') y.remove_prefix(1);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      a.remove_prefix(in_a);
      b.remove_prefix(in_b);
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  // Names that differ in leading zeros only still have an order.
  return whole_a < whole_b;
}

namespace {

/// Whether a word looks like the name of a NIC: `HCA-1`, `mlx5_0`, `hfi1_0`, `ibp24s0`. It has a digit, does not begin
/// with one, and has none of the marks of product descriptions.
bool is_nic_name(std::string_view word) {
  return word.find_first_of("0123456789") != std::string_view::npos && !is_digit(word.front()) &&
         word.find_first_of("()[]/:;,") == std::string_view::npos;
}

/// Host and NIC of a node description. The NIC is empty if the description does not name a host, but a product.
std::pair<std::string, std::string> names_of_adapter(const SubnetDevice& device) {
  const std::vector<std::string_view> words = words_of(device.name);
  if (words.size() == 2 && is_nic_name(words[1])) return {std::string(words[0]), std::string(words[1])};
  if (words.size() == 1) return {std::string(words[0]), "nic"};
  return {device.guid.empty() ? fmt::format("line-{}", device.line) : "guid-" + device.guid, {}};
}

/// The name in a description: leaf1 in `MF0;leaf1:MQM9700/U1`. For a chassis, the module is appended.
std::string name_of_switch(std::string_view described) {
  // Only a short word before the semicolon, as in `MF0;leaf1:MQM9700/U1`, is a prefix.
  if (const std::size_t mark = described.find(';'); mark != std::string_view::npos && mark <= 4) {
    std::string_view rest = described.substr(mark + 1);
    const std::string name(take_until(rest, ':'));
    take_until(rest, '/');
    if (!name.empty()) return rest.empty() || rest == "U1" ? name : name + "/" + std::string(rest);
  }
  return std::string(described);
}

/// A port of an adapter.
struct FoundNic {
  std::string host, nic, guid;
  int port = 0, lid = 0, lmc = 0;
  std::string name;  ///< final name, unique in the host
  bool operator<(const FoundNic& other) const {
    if (host != other.host) return natural_less(host, other.host);
    if (nic != other.nic) return natural_less(nic, other.nic);
    return std::tie(guid, port) < std::tie(other.guid, other.port);
  }
};

class Finder {
 public:
  Finder(const std::vector<DiscoveredSubnet>& subnets, std::vector<Diagnostic>& warnings)
      : subnets_(subnets), warnings_(warnings) {}

  FileFabric find() {
    name_switches();
    for (std::size_t s = 0; s < subnets_.size(); ++s)
      for (const SubnetCable& cable : subnets_[s].cables) take_cable(s, cable);
    name_nics();
    for (const Wire& wire : wires_) {
      FileFabricLink link;
      link.from = wire.nic ? nics_[*wire.nic].host + "." + nics_[*wire.nic].name : wire.from;
      link.to = wire.to;
      link.rate = wire.rate;
      link.from_port = wire.from_port;
      link.to_port = wire.to_port;
      fabric_.links.push_back(std::move(link));
    }
    say_left_out();
    return std::move(fabric_);
  }

 private:
  // A cable with names of switches, and a NIC by number: NICs get their names only when all are known.
  struct Wire {
    std::optional<std::size_t> nic;
    std::string from, to;
    BytesPerSecond rate;
    int from_port = 0, to_port = 0;
  };

  void warn(const std::string& file, int line, std::string message, std::string hint = {}) {
    warnings_.push_back({Diagnostic::Severity::warning, {file, line, 1, 1}, {}, std::move(message), std::move(hint)});
  }

  void name_switches() {
    // Unmanaged switches often share one description, so names are counted first.
    std::map<std::string, int> count;
    for (const DiscoveredSubnet& subnet : subnets_)
      for (const SubnetDevice& d : subnet.devices)
        if (d.kind == DeviceKind::switch_box) ++count[name_of_switch(d.name)];
    for (const DiscoveredSubnet& subnet : subnets_) {
      std::vector<std::string>& names = switch_names_.emplace_back(subnet.devices.size());
      for (std::size_t d = 0; d < subnet.devices.size(); ++d) {
        const SubnetDevice& device = subnet.devices[d];
        if (device.kind != DeviceKind::switch_box) continue;
        std::string name = name_of_switch(device.name);
        // The GUID makes the name unique.
        if (name.empty() || count[name] > 1) name += (name.empty() ? "guid-" : "-") + device.guid;
        names[d] = name;
        fabric_.switches.push_back({name, Tier::leaf, device.guid, device.lid});
      }
    }
  }

  void take_cable(std::size_t s, const SubnetCable& cable) {
    const DiscoveredSubnet& subnet = subnets_[s];
    SubnetCable::End near = cable.a, far = cable.b;
    const auto kind = [&](const SubnetCable::End& end) { return subnet.devices[end.device].kind; };
    // The adapter, if there is one, is the lower end.
    if (kind(near) == DeviceKind::switch_box && kind(far) != DeviceKind::switch_box) std::swap(near, far);
    for (const auto& end : {near, far})
      if (kind(end) == DeviceKind::aggregation || kind(end) == DeviceKind::router) {
        if (kind(end) == DeviceKind::router) ++routers_;  // an aggregation node is part of its switch, so no warning
        return;
      }
    Wire wire;
    wire.rate = cable.rate;
    wire.to_port = far.port;
    if (kind(far) != DeviceKind::switch_box) {
      return warn(subnet.file, cable.line,
                  fmt::format("left out the cable between '{}' and '{}', which leads to no switch",
                              subnet.devices[near.device].name, subnet.devices[far.device].name));
    }
    wire.to = switch_names_[s][far.device];
    if (kind(near) == DeviceKind::switch_box) {
      wire.from = switch_names_[s][near.device];
      wire.from_port = near.port;
    } else {
      const SubnetDevice& device = subnet.devices[near.device];
      const auto [host, nic] = names_of_adapter(device);
      if (nic.empty())
        warn(subnet.file, device.line,
             fmt::format("'{}' does not name a host; the host is called {}", device.name, host));
      wire.nic = nics_.size();
      nics_.push_back({host, nic.empty() ? "nic" : nic, device.guid, near.port, near.lid, near.lmc, {}});
    }
    wires_.push_back(std::move(wire));
  }

  /// Sorts the NICs into hosts. Several NICs of a host with the same name get numbers.
  void name_nics() {
    // Sorted by natural order of names and then by GUID, so that hosts and NICs have the same numbers for any order of
    // lines.
    std::vector<FoundNic*> order;
    std::map<std::pair<std::string_view, std::string_view>, int> count;
    for (FoundNic& nic : nics_) {
      order.push_back(&nic);
      ++count[{nic.host, nic.nic}];
    }
    std::sort(order.begin(), order.end(), [](const FoundNic* a, const FoundNic* b) { return *a < *b; });
    int number = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      FoundNic& nic = *order[i];
      const bool first = i == 0 || order[i - 1]->host != nic.host;
      number = first || order[i - 1]->nic != nic.nic ? 1 : number + 1;
      nic.name = count[{nic.host, nic.nic}] > 1 ? fmt::format("{}/{}", nic.nic, number) : nic.nic;
      if (first) fabric_.hosts.emplace_back().name = nic.host;
      fabric_.hosts.back().nics.push_back({nic.name, nic.lid, nic.lmc});
    }
  }

  // One warning for all routers, since a subnet may have many such links.
  void say_left_out() {
    const std::string file = subnets_.empty() ? std::string() : subnets_.front().file;
    if (routers_ > 0) warn(file, 0, fmt::format("left out {} links to routers", routers_));
  }

  const std::vector<DiscoveredSubnet>& subnets_;
  std::vector<Diagnostic>& warnings_;
  FileFabric fabric_;
  std::vector<std::vector<std::string>> switch_names_;
  std::vector<FoundNic> nics_;
  std::vector<Wire> wires_;
  int routers_ = 0;
};

}  // namespace

FileFabric fabric_of_subnets(const std::vector<DiscoveredSubnet>& subnets, std::vector<Diagnostic>& warnings) {
  return Finder(subnets, warnings).find();
}

}  // namespace fabricast
