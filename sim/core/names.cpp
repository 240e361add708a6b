// Suggestions for mistyped words. The distance counts insertions, deletions, substitutions and swaps of neighbouring
// characters (optimal string alignment) [Damerau1964].
#include "fabricast/core/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "fabricast/core/text.hpp"

namespace fabricast {

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t n = b.size();
  // Rows of the dynamic programme. Three are enough, since a swap reaches back two rows.
  std::vector<int> before(n + 1), last(n + 1), row(n + 1);
  for (std::size_t j = 0; j <= n; ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= n; ++j) {
      const int same = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + same});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[n];
}

namespace {

/// Words that are far from the known ones by letters, and mean the same.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> synonyms{{{"ib", "infiniband"},
                                                                                 {"tcp", "socket"},
                                                                                 {"clos", "fat_tree"},
                                                                                 {"a2a", "alltoall"},
                                                                                 {"training", "training_step"},
                                                                                 {"serving", "inference"},
                                                                                 {"hash", "ecmp"}}};

/// In lower case, with one kind of separator.
std::string folded(std::string_view word) {
  std::string out = lower_case(word);
  for (char& c : out)
    if (c == '-' || c == ' ') c = '_';
  return out;
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known) {
  const auto find = [&](std::string_view name) { return std::find(known.begin(), known.end(), name); };
  if (const auto same = find(word); same != known.end()) return *same;
  const std::string typed = folded(word);
  for (const auto& [other, name] : synonyms)
    if (const auto meant = find(name); typed == other && meant != known.end()) return *meant;
  // A third of the letters may be wrong. Beyond that the suggestion would be a guess.
  const int limit = std::max(1, static_cast<int>(word.size()) / 3);
  std::optional<std::string_view> best;
  int best_distance = limit + 1;
  for (const std::string_view candidate : known) {
    const int distance = edit_distance(typed, folded(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

// If nothing is near, the whole list helps more than a far word.
std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  if (const auto near = nearest(word, known)) return fmt::format("did you mean '{}'?", *near);
  return fmt::format("known: {}", join(known));
}

std::string join(std::span<const std::string_view> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace fabricast
