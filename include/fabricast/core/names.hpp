// Names that the user may have misspelled: the nearest known name, and lists of names for messages.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Optimal string alignment distance in bytes: insertions, deletions, substitutions and swaps of neighbours
/// [Damerau1964].
int edit_distance(std::string_view a, std::string_view b);

/// The closest of the known names, if it is close enough to be a typing mistake: at most a third of the word's length,
/// and at least one edit. The first of several equally close names.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

/// A hint for an unknown name: "did you mean 'leaf_spine'?", or "known: a, b, c" if none is close.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

/// The words with the separator between them: "a, b, c".
std::string join(std::span<const std::string_view> words, std::string_view separator = ", ");

/// The names in a table of descriptors, which are any type with a `name` member. They refer to the table's own strings.
template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& item : table) names.push_back(item.name);
  return names;
}

/// The descriptor with this name in a table, or null.
template <class Table>
auto find_by_name(const Table& table, std::string_view name) -> decltype(&*std::begin(table)) {
  for (const auto& item : table)
    if (item.name == name) return &item;
  return nullptr;
}

}  // namespace fabricast
