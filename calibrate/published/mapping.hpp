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

}  // namespace fabricast::published
