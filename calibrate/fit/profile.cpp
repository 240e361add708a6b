// Writes fitted parameters as a profile (JSON).
//
// A profile has the layout of models/hardware/data/*.json and overrides it by path, so a forecast reads both with one
// reader. It is written by hand and not by the JSON library, because one parameter per line makes profiles comparable
// with line-based tools.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

std::string profile_json(const Fit& fit, const std::string& source) {
  std::vector<std::pair<std::string, Parameter>> parameters;
  for (const FittedParameter& p : fit.parameters) parameters.emplace_back(p.path, p.after);
  ForecastSpread spread = fit.hardware.spread;
  for (const ParameterRef& p : fabricast::parameters(spread))
    parameters.emplace_back("forecast.spread." + std::string(p.name), *p.parameter);
  return profile_json(parameters, source);
}

std::string profile_json(const std::vector<std::pair<std::string, Parameter>>& parameters, const std::string& source) {
  // One line per parameter, as in the shipped data.
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::map<std::string, std::map<std::string, std::vector<std::string>>> sections;
  for (const auto& [path, p] : parameters) {
    // Paths are `section.group.name`, and each level becomes a JSON object.
    const auto first = path.find('.');
    const std::string section = path.substr(0, first), rest = path.substr(first + 1);
    // Names of software parameters and of stacks may contain a dot, such as `channel_launch_before_2.9`.
    const auto second = section == "software" ? std::string::npos
                        : section == "stacks" ? rest.rfind('.')
                                              : rest.find('.');
    const std::string group = second == std::string::npos ? "" : rest.substr(0, second);
    const std::string name = second == std::string::npos ? rest : rest.substr(second + 1);
    std::string line = fmt::format("{}: {{\"value\": {:.4g}, \"low\": {:.4g}, \"high\": {:.4g}, \"source\": {}",
                                   quoted(name), p.value, p.low, p.high, quoted(source));
    if (!p.samples.empty()) {
      std::vector<std::string> samples;
      for (const double d : p.samples) samples.push_back(fmt::format("{:.4g}", d));
      line += fmt::format(", \"samples\": [{}]", fmt::join(samples, ", "));
    }
    sections[section][group].push_back(line + "}");
  }
  std::vector<std::string> blocks;
  for (const auto& [section, groups] : sections) {
    std::vector<std::string> inner;
    for (const auto& [group, lines] : groups) {
      if (group.empty())
        inner.push_back(fmt::format("    {}", fmt::join(lines, ",\n    ")));
      else
        inner.push_back(fmt::format("    {}: {{\n      {}\n    }}", quoted(group), fmt::join(lines, ",\n      ")));
    }
    blocks.push_back(fmt::format("  {}: {{\n{}\n  }}", quoted(section), fmt::join(inner, ",\n")));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(blocks, ",\n"));
}

}  // namespace fabricast
