// Names the user may have misspelt: nearest known name, lists for messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Optimal string alignment distance [Damerau1964].
int edit_distance(std::string_view a, std::string_view b);

/// The closest of `known` if close enough to be a slip, not a different word.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

/// "did you mean 'leaf_spine'?" or "known: a, b, c".
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

/// "a, b, c".
std::string join(std::span<const std::string_view> words, std::string_view separator = ", ");

/// Names of a table of descriptors (anything with a `name` member).
template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& item : table) names.push_back(item.name);
  return names;
}

/// The descriptor of that name, or null.
template <class Table>
auto find_by_name(const Table& table, std::string_view name) -> decltype(&*std::begin(table)) {
  for (const auto& item : table)
    if (item.name == name) return &item;
  return nullptr;
}

}  // namespace fabricast
