// What mappings of published rows share.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/published_mapping.hpp"

namespace fabricast::published {

using Json = nlohmann::ordered_json;

/// Marks a row as unmapped. Only the first reason is kept.
inline void miss(Mapping& mapped, std::string what) {
  if (mapped.missing.empty()) mapped.missing = std::move(what);
}

/// Counts rows by the keys that `of` returns for each of them; most frequent first, then by name.
template <class Results, class F>
std::vector<KeyCount> counted(const Results& results, F of) {
  std::map<std::string, std::size_t> counts;
  for (const auto& r : results)
    for (const std::string& key : of(r)) ++counts[key];
  std::vector<KeyCount> list;
  for (const auto& [key, rows] : counts) list.push_back({key, rows});
  std::stable_sort(list.begin(), list.end(), [](const KeyCount& a, const KeyCount& b) { return a.rows > b.rows; });
  return list;
}

/// Why rows cannot be said, by the whole reason: "unknown model" is of use only with the model's name.
template <class Results>
std::vector<KeyCount> missing_of(const Results& results) {
  return counted(results, [](const auto& r) {
    return r.outcome == RowOutcome::unsayable ? std::vector<std::string>{r.why} : std::vector<std::string>{};
  });
}

/// The keys at which scenarios of rows were refused.
template <class Results>
std::vector<KeyCount> refusals_of(const Results& results) {
  return counted(results, [](const auto& r) {
    return r.outcome == RowOutcome::refused ? std::vector<std::string>{r.key} : std::vector<std::string>{};
  });
}

/// What rows say that scenarios cannot.
template <class Results>
std::vector<KeyCount> unsaid_of(const Results& results) {
  return counted(results, [](const auto& r) { return r.mapped.unsaid; });
}

/// Adds the scenario of a row and what was assumed for it; nothing if the row has no scenario.
inline void add_scenario(Json& to, const Mapping& mapped) {
  if (mapped.scenario.empty()) return;
  Json assumed = Json::array();
  for (const Assumed& a : mapped.assumed) assumed.push_back({{"key", a.key}, {"value", a.value}, {"why", a.why}});
  to["assumed"] = std::move(assumed);
  to["without"] = mapped.unsaid;
  to["scenario"] = Json::parse(mapped.scenario);
}

}  // namespace fabricast::published
