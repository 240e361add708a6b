// From InfraGraph's YAML or JSON to plain values [InfraGraph]: devices with components, instances of devices, and edges
// between them. Expanding instances and schemes to cables is sim/discover.
//
// YAML aliases make lists of lists expand exponentially, so entries are counted.
#include "infragraph_reader.hpp"

#include <fmt/format.h>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "yaml_place.hpp"

namespace fabricast {

namespace {

// Some files wrap the graph in a map `infrastructure`.
const YAML::Node within(const YAML::Node& root) {
  const YAML::Node inner = root["infrastructure"];
  return inner.IsDefined() && inner.IsMap() ? inner : root;
}

class Reader {
 public:
  explicit Reader(FileProblems& problems) : problems_(problems) {}

  InfraGraph read(const YAML::Node& root) {
    InfraGraph graph;
    each(root, "devices", [&](const YAML::Node& node) {
      InfraDevice& device = graph.devices.emplace_back();
      device.name = text(node, "name");
      each(node, "components", [&](const YAML::Node& inner) {
        device.components.push_back({text(inner, "name"), text(inner, "choice"), count(inner)});
      });
    });
    each(root, "links", [&](const YAML::Node& node) { graph.links.push_back({text(node, "name"), rate(node)}); });
    each(root, "instances", [&](const YAML::Node& node) {
      graph.instances.push_back({text(node, "name"), text(node, "device"), count(node), line_of(node)});
    });
    each(root, "edges", [&](const YAML::Node& node) {
      InfraEdge& edge = graph.edges.emplace_back();
      edge.a = endpoint(node, "ep1");
      edge.b = endpoint(node, "ep2");
      edge.link = text(node, "link");
      edge.line = line_of(node);
      if (node["scheme"].IsDefined()) edge.scheme = text(node, "scheme");
    });
    return graph;
  }

 private:
  void fail(const YAML::Node& node, std::string message) {
    problems_.error(line_of(node), column_of(node), std::move(message));
  }

  /// Calls `f` for each map in a list.
  template <class F>
  void each(const YAML::Node& node, const char* key, F f) {
    const YAML::Node list = node[key];
    if (!list.IsDefined() || list.IsNull()) return;
    if (!list.IsSequence()) return fail(list, fmt::format("`{}` must be a list", key));
    // Nested lists of aliases could make a small file expand until memory is full.
    constexpr std::size_t most = 10'000'000;
    entries_ += list.size();
    if (entries_ > most) return fail(list, fmt::format("the lists have more than {} entries in total", most));
    for (const auto& entry : list) {
      const YAML::Node item = entry;
      if (item.IsMap())
        f(item);
      else
        fail(item, "must be a map");
    }
  }

  std::string text(const YAML::Node& node, const char* key) {
    const YAML::Node value = node[key];
    if (value.IsDefined() && value.IsScalar() && !value.Scalar().empty()) return shown(value.Scalar());
    fail(value.IsDefined() ? value : node, fmt::format("`{}` is missing", key));
    return {};
  }

  int count(const YAML::Node& node) {
    const YAML::Node value = node["count"];
    const auto number =
        value.IsDefined() && value.IsScalar() ? parse_integer(value.Scalar()) : Parsed<std::int64_t>{0, "none", {}};
    // As many as a fabric may have hosts.
    if (number && number.value >= 0 && number.value <= 4000000) return static_cast<int>(number.value);
    fail(value.IsDefined() ? value : node, "`count` must be a whole number between 0 and 4000000");
    return 0;
  }

  /// `physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}}`
  /// 0 means unknown: the rate of the node's NICs or of the switches applies.
  BytesPerSecond rate(const YAML::Node& node) {
    const YAML::Node physical = node["physical"];
    if (!physical.IsDefined() || !physical.IsMap()) return {0};
    const YAML::Node bandwidth = physical["bandwidth"];
    if (!bandwidth.IsDefined() || !bandwidth.IsMap()) return {0};
    for (const auto& [unit, factor] : {std::pair{"gigabits_per_second", 0.125e9}, {"gigabytes_per_second", 1e9}}) {
      const YAML::Node value = bandwidth[unit];
      if (!value.IsDefined()) continue;
      const auto number = value.IsScalar() ? parse_number(value.Scalar()) : Parsed<double>{0, "none", {}};
      if (number && number.value * factor >= line_rates.low && number.value * factor <= line_rates.high)
        return {number.value * factor};
      fail(value, "is not a plausible link rate");
    }
    return {0};
  }

  InfraEndpoint endpoint(const YAML::Node& edge, const char* key) {
    const YAML::Node node = edge[key];
    if (!node.IsDefined() || !node.IsMap()) {
      fail(edge, fmt::format("`{}` is missing", key));
      return {};
    }
    return {text(node, "instance"), text(node, "component"), line_of(node), column_of(node)};
  }

  FileProblems& problems_;
  std::size_t entries_ = 0;
};

}  // namespace

bool is_infragraph(const YAML::Node& root) {
  const YAML::Node inner = within(root);
  return inner["instances"].IsDefined() && inner["edges"].IsDefined();
}

InfraGraph read_infragraph(const YAML::Node& root, FileProblems& problems) {
  return Reader(problems).read(within(root));
}

}  // namespace fabricast
