// From InfraGraph's YAML or JSON to plain values [InfraGraph]: devices with components, instances of devices, and edges
// between them. Expanding instances and schemes to cables is sim/discover.
//
// YAML aliases make lists of lists expand exponentially, so entries are counted.
#include "infragraph_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"

namespace fabricast {

namespace {

int line_of(const YamlView& node) { return std::max(1, node.position().first); }
int column_of(const YamlView& node) { return std::max(1, node.position().second); }

// Some files wrap the graph in a map `infrastructure`.
YamlView within(const YamlView& root) {
  const YamlView inner = root.find("infrastructure");
  return inner.defined() && inner.map() ? inner : root;
}

class Reader {
 public:
  explicit Reader(FileProblems& problems) : problems_(problems) {}

  InfraGraph read(const YamlView& root) {
    InfraGraph graph;
    each(root, "devices", [&](const YamlView& node) {
      InfraDevice& device = graph.devices.emplace_back();
      device.name = text(node, "name");
      each(node, "components", [&](const YamlView& inner) {
        device.components.push_back({text(inner, "name"), text(inner, "choice"), count(inner)});
      });
    });
    each(root, "links", [&](const YamlView& node) { graph.links.push_back({text(node, "name"), rate(node)}); });
    each(root, "instances", [&](const YamlView& node) {
      graph.instances.push_back({text(node, "name"), text(node, "device"), count(node), line_of(node)});
    });
    each(root, "edges", [&](const YamlView& node) {
      InfraEdge& edge = graph.edges.emplace_back();
      edge.a = endpoint(node, "ep1");
      edge.b = endpoint(node, "ep2");
      edge.link = text(node, "link");
      edge.line = line_of(node);
      if (node.find("scheme").defined()) edge.scheme = text(node, "scheme");
    });
    return graph;
  }

 private:
  void fail(const YamlView& node, std::string message) {
    problems_.error(line_of(node), column_of(node), std::move(message));
  }

  /// Calls `f` for each map in a list.
  template <class F>
  void each(const YamlView& node, const char* key, F f) {
    const YamlView list = node.find(key);
    if (!list.defined() || list.null()) return;
    if (!list.sequence()) return fail(list, fmt::format("`{}` must be a list", key));
    // Nested lists of aliases could make a small file expand until memory is full.
    constexpr std::size_t most = 10'000'000;
    entries_ += list.size();
    if (entries_ > most) return fail(list, fmt::format("the lists have more than {} entries in total", most));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const YamlView item = list.at(i);
      if (item.map())
        f(item);
      else
        fail(item, "must be a map");
    }
  }

  std::string text(const YamlView& node, const char* key) {
    const YamlView value = node.find(key);
    if (value.defined() && value.scalar() && !value.text().empty()) return shown(value.text());
    fail(value.defined() ? value : node, fmt::format("`{}` is missing", key));
    return {};
  }

  int count(const YamlView& node) {
    const YamlView value = node.find("count");
    const auto number =
        value.defined() && value.scalar() ? parse_integer(value.text()) : Parsed<std::int64_t>{0, "none", {}};
    // As many as a fabric may have hosts.
    if (number && number.value >= 0 && number.value <= 4000000) return static_cast<int>(number.value);
    fail(value.defined() ? value : node, "`count` must be a whole number between 0 and 4000000");
    return 0;
  }

  /// `physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}}`
  /// 0 means unknown: the rate of the node's NICs or of the switches applies.
  BytesPerSecond rate(const YamlView& node) {
    const YamlView physical = node.find("physical");
    if (!physical.defined() || !physical.map()) return {0};
    const YamlView bandwidth = physical.find("bandwidth");
    if (!bandwidth.defined() || !bandwidth.map()) return {0};
    for (const auto& [unit, factor] : {std::pair{"gigabits_per_second", 0.125e9}, {"gigabytes_per_second", 1e9}}) {
      const YamlView value = bandwidth.find(unit);
      if (!value.defined()) continue;
      const auto number = value.scalar() ? parse_number(value.text()) : Parsed<double>{0, "none", {}};
      if (number && number.value * factor >= line_rates.low && number.value * factor <= line_rates.high)
        return {number.value * factor};
      fail(value, "is not a plausible link rate");
    }
    return {0};
  }

  InfraEndpoint endpoint(const YamlView& edge, const char* key) {
    const YamlView node = edge.find(key);
    if (!node.defined() || !node.map()) {
      fail(edge, fmt::format("`{}` is missing", key));
      return {};
    }
    return {text(node, "instance"), text(node, "component"), line_of(node), column_of(node)};
  }

  FileProblems& problems_;
  std::size_t entries_ = 0;
};

}  // namespace

bool is_infragraph(const YamlView& root) {
  const YamlView inner = within(root);
  return inner.find("instances").defined() && inner.find("edges").defined();
}

InfraGraph read_infragraph(const YamlView& root, FileProblems& problems) { return Reader(problems).read(within(root)); }

}  // namespace fabricast
