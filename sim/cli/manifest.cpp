#include "manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

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

std::vector<MeasuredCase> cases_of_manifest(const std::string& path) {
  const auto list = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!list.is_array() || list.empty()) throw UserError(fmt::format("{}: not a list of logs", path), form);
  std::vector<MeasuredCase> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string log = beside(path, text_at(list[i], "log", path, i));
    const std::string file = beside(path, text_at(list[i], "scenario", path, i));
    const Scenario scenario = read_scenario(file).scenario;
    const std::string named = scenario.name.empty() ? file : scenario.name;
    const std::string system = list[i].contains("system") ? text_at(list[i], "system", path, i) : named;
    ImportedCases cases = cases_of_logs({{log, read_log(log)}}, system, &scenario);
    if (cases.cases.empty()) throw UserError(fmt::format("'{}' holds no collective by nccl-tests", log));
    for (MeasuredCase& c : cases.cases) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace fabricast
