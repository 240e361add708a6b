// The parameters of residual.hpp as JSON.
//
// The file is written by `calibrate residuals` and compiled in. Keys are the names of groups, kinds and families, so
// that a reordered enumeration does not shift values.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "embedded_residuals.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

/// Five significant digits; further digits are noise of the optimizer.
double digits(double value) { return std::stod(fmt::format("{:.5g}", value)); }

template <class E>
Json ends_json(const std::array<ResidualScale::Ends, EnumNames<E>::names.size()>& ends) {
  Json j;
  for (std::size_t i = 0; i < ends.size(); ++i)
    j[std::string(EnumNames<E>::names[i])] = {digits(ends[i][0]), digits(ends[i][1])};
  return j;
}

template <class E>
void read_ends(const Json& j, std::array<ResidualScale::Ends, EnumNames<E>::names.size()>& ends) {
  for (std::size_t i = 0; i < ends.size(); ++i) j.at(std::string(EnumNames<E>::names[i])).get_to(ends[i]);
}

// A scale or weight of 0 could make S singular.
double positive(const Json& j, const char* key) {
  const double value = j.at(key).get<double>();
  if (!(value > 0)) throw std::invalid_argument(fmt::format("'{}' must be above 0", key));
  return value;
}

ResidualModel read_model(const Json& j) {
  ResidualModel m;
  m.freedom = positive(j, "freedom");
  m.host.value = positive(j, "host_us") * 1e-6;
  m.curve = positive(j, "curve");
  m.octaves = positive(j, "octaves");
  m.node_octaves = positive(j, "node_octaves");
  const Json& alike = j.at("alike");
  m.plan = positive(alike, "plan");
  m.nodes = positive(alike, "nodes");
  m.series = positive(alike, "series");
  m.row = positive(j, "row");
  for (std::size_t g = 0; g < parameter_groups.size(); ++g)
    m.groups[g] = positive(j.at("groups"), std::string(parameter_groups[g].name).c_str());
  const Json& scale = j.at("log_scale");
  scale.at("knots").get_to(m.scale.knots);
  read_ends<ResidualKind>(scale.at("kinds"), m.scale.kinds);
  read_ends<ResidualFamily>(scale.at("collectives"), m.scale.families);
  return m;
}

}  // namespace

ResidualModel residual_model_of(const std::string& text, const std::string& file) {
  try {
    return read_model(Json::parse(text));
  } catch (const Json::exception& e) {
    throw UserError(fmt::format("{}: not a residual model: {}", file, e.what()),
                    "`fabricast calibrate residuals --output FILE` writes one");
  } catch (const std::invalid_argument& e) {
    throw UserError(fmt::format("{}: not a residual model: {}", file, e.what()));
  }
}

std::string residual_model_json(const ResidualModel& m, const std::string& source) {
  Json j;
  j["source"] = source;
  j["freedom"] = digits(m.freedom);
  j["host_us"] = digits(microseconds(m.host));
  j["curve"] = digits(m.curve);
  j["octaves"] = digits(m.octaves);
  j["node_octaves"] = digits(m.node_octaves);
  j["alike"] = {{"plan", digits(m.plan)}, {"nodes", digits(m.nodes)}, {"series", digits(m.series)}};
  j["row"] = digits(m.row);
  for (std::size_t g = 0; g < parameter_groups.size(); ++g)
    j["groups"][std::string(parameter_groups[g].name)] = digits(m.groups[g]);
  Json knots = Json::array();
  for (const double k : m.scale.knots) knots.push_back(digits(k));
  j["log_scale"] = {{"knots", knots},
                    {"kinds", ends_json<ResidualKind>(m.scale.kinds)},
                    {"collectives", ends_json<ResidualFamily>(m.scale.families)}};
  return j.dump(1) + "\n";
}

const ResidualModel& shipped_residuals() {
  static const ResidualModel model =
      residual_model_of(std::string(embedded_residuals("residuals.json")), "residuals.json");
  return model;
}

}  // namespace fabricast
