// Finds pairs of measured configurations of one system that differ in a single thing, and compares which of the two is
// faster. Operators choose between such configurations, and errors that both forecasts share do not matter for the
// choice.
//
// Cases are described by attributes (text by name). Two cases form a pair if all attributes but one are equal.
#include "fabricast/calibrate/directions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "fabricast/core/text.hpp"
#include "median.hpp"

namespace fabricast {

namespace {

using Attributes = std::map<std::string, std::string>;

/// The aspect that a variable sets. Variables of one aspect change together, so they count as one difference.
std::string aspect_of(const std::string& variable) {
  static const std::map<std::string, std::string> known = {{"NCCL_ALGO", "algorithm"},
                                                           {"NCCL_PROTO", "protocol"},
                                                           {"NCCL_NVLS_ENABLE", "NVLS"},
                                                           {"NCCL_COLLNET_ENABLE", "SHARP"},
                                                           {"NCCL_NET_GDR_LEVEL", "GDR"},
                                                           {"NCCL_MIN_CTAS", "channels and QPs"},
                                                           {"NCCL_MAX_CTAS", "channels and QPs"},
                                                           {"NCCL_MIN_NCHANNELS", "channels and QPs"},
                                                           {"NCCL_MAX_NCHANNELS", "channels and QPs"},
                                                           {"NCCL_IB_QPS_PER_CONNECTION", "channels and QPs"}};
  const auto it = known.find(variable);
  return it == known.end() ? variable : it->second;
}

Attributes attributes_of(const MeasuredCase& c) {
  // A value that is not stated is the empty text, which equals only another value that is not stated.
  Attributes a = {{"system", c.system},
                  {"collective", c.collective},
                  {"GPU", c.gpu},
                  {"nodes", fmt::to_string(c.nodes)},
                  {"GPUs per node", fmt::to_string(c.gpus_per_node)},
                  {"intranode", c.intranode},
                  {"NICs", c.nics ? fmt::to_string(*c.nics) : ""},
                  {"NIC rate", c.nic_gbps ? fmt::to_string(*c.nic_gbps) : ""},
                  {"network", c.link},
                  {"GDR", c.gdr ? (*c.gdr ? "GDR on" : "GDR off") : ""},
                  {"NCCL version", c.nccl_version}};
  for (const auto& [key, value] : c.env) {
    std::string& text = a[aspect_of(key)];
    if (!text.empty()) text += " ";
    // NCCL ignores the case of these values, and `Ring` and `ring` are no difference.
    text += key == "NCCL_ALGO" || key == "NCCL_PROTO" ? lower_case(value) : key + "=" + value;
  }
  for (const auto& [key, value] : c.harness) {
    // The number of iterations does not matter. One process for all GPUs of a node is the same harness for any number.
    if (key == "iterations") continue;
    const bool all = c.gpus_per_node > 1 && value == fmt::to_string(c.gpus_per_node);
    a["harness"] += key + "=" + (all ? "all" : value) + " ";
  }
  return a;
}

std::string value_of(const Attributes& a, const std::string& key) {
  const auto it = a.find(key);
  return it == a.end() ? std::string() : it->second;
}

/// The one thing in which two configurations differ. Empty if there is none, or if there are several.
std::string difference(const Attributes& a, const Attributes& b) {
  std::set<std::string> keys;
  for (const Attributes* x : {&a, &b})
    for (const auto& [key, value] : *x)
      if (value_of(a, key) != value_of(b, key)) keys.insert(key);
  // These differences follow from others: a single node has no network, NICs come with GPUs, and a single GPU has no
  // intranode connection.
  if (keys.contains("nodes") && (value_of(a, "network").empty() || value_of(b, "network").empty()))
    keys.erase("network");
  if (keys.contains("GPUs per node")) {
    keys.erase("NICs");
    keys.erase("intranode");
  }
  // Operators cannot choose these, so a direction would be of no use.
  for (const char* key : {"system", "collective", "GPU", "harness"})
    if (keys.contains(key)) return {};
  return keys.size() == 1 ? *keys.begin() : std::string();
}

/// Cases that agree in all attributes, with all their times by size. The median over them counts.
struct Configuration {
  Attributes attributes;
  std::map<std::int64_t, std::pair<std::vector<double>, std::vector<double>>> times;  ///< measured, forecast
};

std::vector<Configuration> configurations_of(const std::vector<TimedCase>& cases) {
  // Cases with equal attributes are repeats. Their median is compared, so that the number of repeats does not matter.
  std::map<Attributes, Configuration> by_attributes;
  for (const TimedCase& c : cases) {
    Attributes attributes = attributes_of(*c.measured);
    Configuration& configuration = by_attributes[attributes];
    configuration.attributes = std::move(attributes);
    for (std::size_t i = 0; i < c.forecast.size(); ++i) {
      auto& [measured, forecast] = configuration.times[c.measured->rows[i].bytes];
      measured.push_back(c.measured->rows[i].time_us * 1e-6);
      forecast.push_back(c.forecast[i]);
    }
  }
  std::vector<Configuration> list;
  for (auto& entry : by_attributes) list.push_back(std::move(entry.second));
  return list;
}

// Numbers are compared as numbers: "16" is not below "2".
bool is_number_of(const std::string& aspect) { return aspect == "nodes" || aspect == "GPUs per node"; }

bool comes_first(const std::string& aspect, const Configuration& a, const Configuration& b) {
  const std::string x = value_of(a.attributes, aspect), y = value_of(b.attributes, aspect);
  return is_number_of(aspect) ? std::stoi(x) < std::stoi(y) : x < y;
}

std::vector<PairRow> common_rows(const Configuration& a, const Configuration& b) {
  std::vector<PairRow> rows;
  for (const auto& [bytes, here] : a.times) {
    const double size = static_cast<double>(bytes);
    // Sizes within 1 % are the same: tools round to multiples of the number of ranks.
    const auto it = b.times.lower_bound(static_cast<std::int64_t>(std::ceil(size * 0.99)));
    if (it == b.times.end() || static_cast<double>(it->first) > size * 1.01) continue;
    const auto& there = it->second;
    rows.push_back({bytes, std::log(median_of(there.first) / median_of(here.first)),
                    std::log(median_of(there.second) / median_of(here.second))});
  }
  return rows;
}

struct Crossing {
  double bytes;
  bool falls;  ///< b becomes the faster one
};

/// The sizes at which the sign changes between consecutive rows that count, interpolated on a logarithmic axis.
template <class Value, class Counts>
std::vector<Crossing> crossings(const std::vector<PairRow>& rows, Value value, Counts counts) {
  std::vector<Crossing> list;
  const PairRow* last = nullptr;
  for (const PairRow& row : rows) {
    if (!counts(row)) continue;
    if (last && (value(*last) > 0) != (value(row) > 0)) {
      const double x = std::log(static_cast<double>(last->bytes)), y = std::log(static_cast<double>(row.bytes));
      // Linear in the logarithm of the ratio over the logarithm of the size.
      const double fraction = value(*last) / (value(*last) - value(row));
      list.push_back({std::exp(x + fraction * (y - x)), value(row) < 0});
    }
    last = &row;
  }
  return list;
}

std::vector<Crossing> measured_crossings(const std::vector<PairRow>& rows) {
  return crossings(
      rows, [](const PairRow& r) { return r.measured; }, [](const PairRow& r) { return r.counts(); });
}

}  // namespace

bool PairRow::counts() const { return std::abs(measured) > std::log(1.1); }

int ConfigurationPair::counted() const {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const PairRow& r) { return r.counts(); }));
}

int ConfigurationPair::right() const {
  return static_cast<int>(
      std::count_if(rows.begin(), rows.end(), [](const PairRow& r) { return r.counts() && r.right(); }));
}

std::optional<double> ConfigurationPair::crossing_measured() const {
  const std::vector<Crossing> list = measured_crossings(rows);
  return list.size() == 1 ? std::optional(list.front().bytes) : std::nullopt;
}

std::optional<double> ConfigurationPair::crossing_forecast() const {
  const std::vector<Crossing> measured = measured_crossings(rows);
  // With several measured changes there is no single size to compare with.
  if (measured.size() != 1) return std::nullopt;
  std::optional<double> nearest;
  const auto distance = [&](double bytes) { return std::abs(std::log(bytes / measured.front().bytes)); };
  // All sizes count for the forecast: it has no noise that could change its sign by chance.
  for (const Crossing& c : crossings(
           rows, [](const PairRow& r) { return r.forecast; }, [](const PairRow& r) { return r.forecast != 0; }))
    if (c.falls == measured.front().falls && (!nearest || distance(c.bytes) < distance(*nearest))) nearest = c.bytes;
  return nearest;
}

bool ConfigurationPair::crossing_right() const {
  const auto measured = crossing_measured(), forecast = crossing_forecast();
  return measured && forecast && std::abs(std::log(*forecast / *measured)) <= std::log(2.0);
}

std::vector<ConfigurationPair> find_pairs(const std::vector<TimedCase>& cases) {
  const std::vector<Configuration> list = configurations_of(cases);
  std::vector<ConfigurationPair> pairs;
  for (const Configuration& a : list)
    for (const Configuration& b : list) {
      const std::string aspect = difference(a.attributes, b.attributes);
      // Each pair is met in both orders and kept in one.
      if (aspect.empty() || !comes_first(aspect, a, b)) continue;
      // A number is compared only with the next larger one.
      // With 2, 4 and 8 nodes, the pair of 2 and 8 follows from the other two and would count them twice.
      const auto between = [&](const Configuration& c) {
        return difference(a.attributes, c.attributes) == aspect && comes_first(aspect, a, c) &&
               comes_first(aspect, c, b);
      };
      if (is_number_of(aspect) && std::any_of(list.begin(), list.end(), between)) continue;
      ConfigurationPair pair;
      pair.aspect = aspect;
      pair.system = value_of(a.attributes, "system");
      pair.collective = value_of(a.attributes, "collective");
      pair.a = value_of(a.attributes, aspect);
      pair.b = value_of(b.attributes, aspect);
      if (aspect != "nodes") pair.where += value_of(a.attributes, "nodes") + " nodes";
      if (aspect != "GPUs per node")
        pair.where += (pair.where.empty() ? "" : " x ") + value_of(a.attributes, "GPUs per node") + " GPUs";
      // `where` names what both have in common, but only where the system has alternatives: the rest is no information.
      for (const char* key :
           {"NCCL version", "network", "GDR", "GPU", "NVLS", "SHARP", "algorithm", "channels and QPs"}) {
        const auto other = [&](const Configuration& c) {
          return value_of(c.attributes, "system") == pair.system &&
                 value_of(c.attributes, key) != value_of(a.attributes, key);
        };
        const std::string value = value_of(a.attributes, key);
        if (aspect != key && !value.empty() && std::any_of(list.begin(), list.end(), other)) pair.where += ", " + value;
      }
      pair.rows = common_rows(a, b);
      if (!pair.rows.empty()) pairs.push_back(std::move(pair));
    }
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& x, const auto& y) {
    return std::tie(x.aspect, x.system, x.collective) < std::tie(y.aspect, y.system, y.collective);
  });
  return pairs;
}

}  // namespace fabricast
