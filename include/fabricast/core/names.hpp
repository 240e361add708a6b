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
/// [Damerau1964]. A swap counts as one edit, and no part of the text is edited twice. O(length of a x length of b).
int edit_distance(std::string_view a, std::string_view b);

/// The closest of the known names, if it is close enough to be a typing mistake: as many edits as a third of the word's
/// length, rounded down, but one edit in any case. The first of several equally close names. Case and the choice of
/// `-`, `_` or blank do not count: `ECMP` is close to `ecmp`. A known word is closest to itself, and some words that
/// people use for others, such as `ib` for `infiniband`, are closest to these.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

/// A hint for an unknown name: "did you mean 'leaf_spine'?", or "known: a, b, c" if none is close. All known names are
/// listed, in the order given, however many there are.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

/// The words with the separator between them: "a, b, c".
std::string join(std::span<const std::string_view> words, std::string_view separator = ", ");

/// The names in a table of descriptors, which are any type with a `name` member. They refer to the table's own strings.
/// \pre the table outlives the names
template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& item : table) names.push_back(item.name);
  return names;
}

/// The descriptor with this name in a table, or null; the first if several have it. Linear search, since tables are
/// registries of a few dozen entries.
template <class Table>
auto find_by_name(const Table& table, std::string_view name) -> decltype(&*std::begin(table)) {
  for (const auto& item : table)
    if (item.name == name) return &item;
  return nullptr;
}

}  // namespace fabricast
