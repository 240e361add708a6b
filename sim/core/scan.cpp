// Small scanners for the output of tools. They depend on no locale and never throw: text that does not fit is an absent
// value, and the caller decides whether this is an error.
#include "fabricast/core/scan.hpp"

#include <algorithm>
#include <charconv>

#include "fabricast/core/text.hpp"

namespace fabricast {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Views into the text: no copies for files of a million lines.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  // A row of a table has a dozen words, and logs have millions of rows: growing in steps took as long as finding them.
  constexpr std::size_t usual = 16;
  words.reserve(std::min(usual, (text.size() + 1) / 2));
  for (std::size_t i = 0; i < text.size();) {
    while (i < text.size() && is_space(text[i])) ++i;
    const std::size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    if (i > begin) words.push_back(text.substr(begin, i - begin));
  }
  return words;
}

std::optional<std::int64_t> whole_number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Far from the limits of int, so that callers can add and multiply a little without checks.
std::optional<int> small_number(std::string_view word) {
  const auto value = whole_number(word);
  if (!value || *value < -(1 << 30) || *value > (1 << 30)) return std::nullopt;
  return static_cast<int>(*value);
}

// Text is only consumed if there is a number.
std::optional<int> take_number(std::string_view& text) {
  std::string_view rest = text;
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  std::size_t size = rest.starts_with('-') ? 1 : 0;
  while (size < rest.size() && is_digit(rest[size])) ++size;
  const auto value = small_number(rest.substr(0, size));
  if (value) text = rest.substr(size);
  return value;
}

std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

// Without the mark the whole text is taken, so a loop over fields ends.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return before;
}

// For messages: short, and safe to print.
std::string shown(std::string_view text, std::size_t most) {
  return std::string(trimmed(printable(trimmed(text).substr(0, most))));
}

}  // namespace fabricast
