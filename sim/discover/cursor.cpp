// Tokens of a line (cursor.hpp). A token that does not match leaves the cursor where it was.
#include "cursor.hpp"

#include <charconv>

#include "fabricast/core/scan.hpp"
#include "fabricast/discover/subnet.hpp"

namespace fabricast {

void Cursor::spaces() {
  while (!at_end() && is_space(text_[at_])) ++at_;
}

bool Cursor::take(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::optional<int> Cursor::number(int low, int high) {
  int value = 0;
  const char* begin = text_.data() + at_;
  if (at_end() || !is_digit(*begin)) return std::nullopt;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  // Out of range counts as no match, so a reader states one expectation for both.
  if (error != std::errc() || value < low || value > high) return std::nullopt;
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

std::optional<std::string> Cursor::guid() {
  const std::size_t before = at_;
  if (!take("0x")) take("0X");
  std::string digits;
  while (!at_end()) {
    const char c = text_[at_];
    const bool capital = c >= 'A' && c <= 'F';
    if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !capital) break;
    digits += capital ? static_cast<char>(c - 'A' + 'a') : c;
    ++at_;
  }
  if (digits.empty() || digits.size() > 16) return at_ = before, std::nullopt;
  // GUIDs become 16 lower-case digits, so that all formats give equal keys.
  return std::string(16 - digits.size(), '0') + digits;
}

std::optional<std::string_view> Cursor::until(char mark) {
  const std::size_t found = text_.find(mark, at_);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view before = text_.substr(at_, found - at_);
  at_ = found + 1;
  return before;
}

std::optional<std::string_view> Cursor::described() {
  // To the last quote of the line: descriptions may contain quotes.
  const std::size_t last = text_.rfind('"');
  if (at_end() || text_[at_] != '"' || last <= at_) return std::nullopt;
  const std::string_view inside = text_.substr(at_ + 1, last - at_ - 1);
  at_ = last + 1;
  return inside;
}

std::optional<std::string> guid_digits(std::string_view text) {
  Cursor at(text, 0);
  auto guid = at.guid();
  return at.at_end() ? guid : std::nullopt;
}

}  // namespace fabricast
