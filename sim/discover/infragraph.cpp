// Expands the slices of an InfraGraph to cables, and collects its hosts and switches (discover/infragraph.hpp).
#include "fabricast/discover/infragraph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "cursor.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/discover/fabric.hpp"

namespace fabricast {

namespace {

// Limits on what a small file can expand to, and on devices inside devices.
constexpr std::size_t most_ends = std::size_t{1} << 22;
constexpr int most_depth = 8;
constexpr int most_numbered_port = 254;

/// `name[first:last:step]` as in Python: `last` is excluded.
struct Slice {
  std::string name;
  int first = 0, last = 0, step = 1;
};

// Without brackets all of them. Indices beyond the count are refused, since the document is then wrong.
std::optional<Slice> slice_of(std::string_view text, int count) {
  Slice slice;
  const std::size_t bracket = text.find('[');
  slice.name = text.substr(0, bracket);
  slice.last = count;
  if (bracket == std::string_view::npos) return slice;
  Cursor at(text.substr(bracket + 1), 0);
  // All three parts may be missing, as in Python: `[:]` is everything, `[2]` one index.
  const auto first = at.number(0, count);
  if (first) slice.first = *first;
  if (at.take(":")) {
    if (const auto last = at.number(0, count)) slice.last = *last;
    if (at.take(":")) {
      const auto step = at.number(1, 1 << 20);
      if (!step) return std::nullopt;
      slice.step = *step;
    }
  } else if (!first || *first >= count) {
    return std::nullopt;
  } else {
    slice.last = slice.first + 1;
  }
  if (!at.take("]") || !at.at_end()) return std::nullopt;
  return slice;
}

/// One end of one cable.
struct End {
  std::string device;  ///< `host.3`, `leafsw.1`
  std::string part;    ///< `nic.0`, `cx5.0.port.0`
  std::string choice;  ///< kind of the innermost component
  bool host = false;
  int port = 0;  ///< port number for a switch; 0: not defined
};

// Edges are expanded to cables, and hosts and switches appear with their first cable. Instances without cables are not
// part of the network.
class Maker {
 public:
  Maker(const InfraGraph& graph, FileProblems& problems) : graph_(graph), problems_(problems) {}

  FileFabric make() {
    for (const InfraDevice& device : graph_.devices) devices_.emplace(device.name, &device);
    for (const InfraLink& link : graph_.links) links_.emplace(link.name, &link);
    for (const InfraInstance& instance : graph_.instances) add_instance(instance);
    for (const InfraEdge& edge : graph_.edges) add_edge(edge);
    add_hosts();
    if (left_out_ > 0)
      problems_.warning(0,
                        fmt::format("left out {} edges that do not lead from a NIC or switch to a switch", left_out_));
    return std::move(fabric_);
  }

 private:
  const InfraDevice* device(const std::string& name) const {
    const auto it = devices_.find(name);
    return it == devices_.end() ? nullptr : it->second;
  }

  // A device with an accelerator, also inside a device of its own, is a host.
  bool has_xpu(const InfraDevice& of, int depth = 0) const {
    return std::any_of(of.components.begin(), of.components.end(), [&](const InfraComponent& c) {
      if (c.choice == "xpu" || c.choice == "npu") return true;
      const InfraDevice* inner = c.choice == "device" && depth < most_depth ? device(c.name) : nullptr;
      return inner && has_xpu(*inner, depth + 1);
    });
  }

  void add_instance(const InfraInstance& instance) {
    if (!device(instance.device))
      return problems_.error(instance.line, 0, fmt::format("unknown device '{}'", instance.device));
    if (instance.count < 0 || static_cast<std::size_t>(instance.count) > most_ends)
      return problems_.error(instance.line, 0, "too many instances");
    if (!instances_.emplace(instance.name, &instance).second)
      problems_.error(instance.line, 0, fmt::format("duplicate instance '{}'", instance.name));
  }

  void fail(const InfraEndpoint& at, std::string message, std::string hint = {}) {
    problems_.error(at.line, at.column, std::move(message), std::move(hint));
  }

  /// All ends that an endpoint stands for, with instances slowest and the innermost component fastest.
  std::vector<End> expand(const InfraEndpoint& point) {
    const std::string name = point.instance.substr(0, point.instance.find('['));
    const auto found = instances_.find(name);
    if (found == instances_.end()) return fail(point, fmt::format("unknown instance '{}'", name)), std::vector<End>();
    const InfraInstance& instance = *found->second;
    const auto slice = slice_of(point.instance, instance.count);
    if (!slice) return wrong_slice(point, point.instance, instance.count);
    const InfraDevice* of = device(instance.device);
    const bool host = has_xpu(*of);
    std::vector<End> ends;
    for (int i = slice->first; i < slice->last; i += slice->step)
      ends.push_back({fmt::format("{}.{}", instance.name, i), {}, {}, host, 0});
    // Each name of the path selects components of the current device; a component may be a device that the next name
    // looks into.
    for (const std::string& part : split(point.component, '.')) {
      if (!of) return fail(point, fmt::format("'{}' is not inside a device", part)), std::vector<End>();
      const std::string component = part.substr(0, part.find('['));
      const InfraComponent* c = find_by_name(of->components, component);
      if (!c)
        return fail(point, fmt::format("the device '{}' has no component '{}'", of->name, component)),
               std::vector<End>();
      const auto indices = slice_of(part, c->count);
      if (!indices) return wrong_slice(point, part, c->count);
      std::vector<End> inner;
      for (const End& end : ends)
        for (int i = indices->first; i < indices->last; i += indices->step) {
          if (inner.size() >= most_ends)
            return fail(point, "an endpoint expands to more than four million ends"), std::vector<End>();
          End& next = inner.emplace_back(end);
          // Ports of a switch are numbered from 1, by their index in the outermost component.
          next.port = next.part.empty() && i < most_numbered_port ? i + 1 : 0;
          next.part += fmt::format("{}{}.{}", next.part.empty() ? "" : ".", component, i);
          next.choice = c->choice;
        }
      ends = std::move(inner);
      of = c->choice == "device" ? device(c->name) : nullptr;
    }
    return ends;
  }

  std::vector<End> wrong_slice(const InfraEndpoint& point, const std::string& text, int count) {
    fail(point, fmt::format("'{}' is not a valid slice of {}", text, count), "e.g. host[0:4] or nic[1]");
    return {};
  }

  void add_edge(const InfraEdge& edge) {
    const std::vector<End> a = expand(edge.a), b = expand(edge.b);
    if (a.empty() || b.empty()) return;
    const auto link = links_.find(edge.link);
    if (link == links_.end()) return problems_.error(edge.line, 0, fmt::format("unknown link '{}'", edge.link));
    // one2one joins the ends pair by pair, many2many each with each.
    if (edge.scheme == "one2one") {
      if (a.size() != b.size())
        return problems_.error(edge.line, 0,
                               fmt::format("one2one needs equal numbers of ends, not {} and {}", a.size(), b.size()));
      for (std::size_t i = 0; i < a.size(); ++i) add_cable(a[i], b[i], link->second->rate);
    } else if (edge.scheme == "many2many") {
      if (a.size() * b.size() > most_ends) return problems_.error(edge.line, 0, "more than four million cables");
      for (const End& x : a)
        for (const End& y : b) add_cable(x, y, link->second->rate);
    } else {
      problems_.error(edge.line, 0, fmt::format("unsupported scheme '{}'", edge.scheme), "use one2one or many2many");
    }
    if (fabric_.links.size() > most_ends) problems_.error(edge.line, 0, "more than four million cables");
  }

  static bool is_port(const End& end) { return end.choice == "nic" || end.choice == "port"; }

  void add_cable(End a, End b, BytesPerSecond rate) {
    // Hosts are the lower end. Cables between hosts, inside one device, or from something else than a port of a host
    // are not part of the fabric.
    if (b.host) std::swap(a, b);
    if (b.host || (a.host && !is_port(a)) || a.device == b.device) return void(++left_out_);
    add_switch(b.device);
    if (a.host)
      nics_[a.device].insert(a.part);
    else
      add_switch(a.device);
    FileFabricLink& link = fabric_.links.emplace_back();
    link.from = a.host ? a.device + "." + a.part : a.device;
    link.to = b.device;
    link.rate = rate;
    link.from_port = a.host ? 0 : a.port;
    link.to_port = b.port;
  }

  void add_switch(const std::string& name) {
    if (known_.insert(name).second) fabric_.switches.emplace_back().name = name;
  }

  void add_hosts() {
    for (const InfraInstance& instance : graph_.instances)
      for (int i = 0; i < instance.count && !nics_.empty(); ++i) {
        const auto it = nics_.find(fmt::format("{}.{}", instance.name, i));
        if (it == nics_.end()) continue;
        FileFabricHost& host = fabric_.hosts.emplace_back();
        host.name = it->first;
        for (const std::string& nic : it->second) host.nics.emplace_back().name = nic;
        std::sort(host.nics.begin(), host.nics.end(),
                  [](const FileFabricNic& x, const FileFabricNic& y) { return natural_less(x.name, y.name); });
        nics_.erase(it);
      }
  }

  const InfraGraph& graph_;
  FileProblems& problems_;
  FileFabric fabric_;
  std::unordered_map<std::string, const InfraDevice*> devices_;
  std::unordered_map<std::string, const InfraLink*> links_;
  std::unordered_map<std::string, const InfraInstance*> instances_;
  std::map<std::string, std::set<std::string>> nics_;  ///< by host
  std::set<std::string> known_;                        ///< switches
  std::size_t left_out_ = 0;
};

}  // namespace

FileFabric fabric_of_infragraph(const InfraGraph& graph, FileProblems& problems) {
  return Maker(graph, problems).make();
}

}  // namespace fabricast
