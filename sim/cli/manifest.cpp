// Lists of logs for a joint fit (manifest.hpp). Each log has the scenario of its run: nodes, variables and versions may
// differ between logs of one site.
#include "manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "../../models/hardware/json_text.hpp"
#include "fabricast/calibrate/import_cases.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"
#include "log_file.hpp"

namespace fabricast {

namespace {

constexpr const char* form = "[{\"log\": FILE, \"scenario\": FILE}, ...]";

std::string text_at(const nlohmann::json& entry, const char* key, const std::string& path, std::size_t number) {
  if (entry.is_object() && entry.contains(key) && entry[key].is_string()) return entry[key].get<std::string>();
  throw UserError(fmt::format("{}: entry {} has no '{}'", path, number + 1, key), form);
}

}  // namespace

std::vector<ManifestEntry> parse_manifest(const std::string& text, const std::string& path) {
  const nlohmann::json list = parse_json_text(text, path);
  if (!list.is_array() || list.empty()) throw UserError(fmt::format("{}: not a list of logs", path), form);
  std::vector<ManifestEntry> entries;
  for (std::size_t i = 0; i < list.size(); ++i) {
    ManifestEntry entry{text_at(list[i], "log", path, i), text_at(list[i], "scenario", path, i), {}};
    if (list[i].contains("system")) entry.system = text_at(list[i], "system", path, i);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<MeasuredCase> cases_of_manifest(const std::string& path) {
  std::vector<MeasuredCase> all;
  for (const ManifestEntry& entry : parse_manifest(read_file(path), path)) {
    const std::string log = beside(path, entry.log), file = beside(path, entry.scenario);
    const Scenario scenario = read_scenario(file).scenario;
    const std::string named = scenario.name.empty() ? file : scenario.name;
    // Logs of one system count together in the fit, however many there are.
    const std::string system = entry.system.empty() ? named : entry.system;
    ImportedCases cases = cases_of_logs(read_logs({log}), system, &scenario);
    if (cases.cases.empty()) throw UserError(fmt::format("'{}' has no measured collectives", log));
    for (MeasuredCase& c : cases.cases) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace fabricast
