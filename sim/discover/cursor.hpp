// A position in a line that is read from left to right.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "fabricast/discover/problems.hpp"

namespace fabricast {

/// Reads tokens of a line, which must outlive it. Functions that return nothing or false leave the position unchanged.
class Cursor {
 public:
  Cursor(std::string_view text, int line) : text_(text), line_(line) {}

  bool at_end() const { return at_ >= text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }
  int line() const { return line_; }
  /// The column of the position, from 1, for messages.
  int column() const { return static_cast<int>(at_) + 1; }
  void skip(std::size_t count) { at_ = std::min(at_ + count, text_.size()); }

  /// Skips blanks.
  void spaces();
  /// Skips a word if it is next. \returns whether it is
  bool take(std::string_view word);
  /// A decimal number within limits.
  std::optional<int> number(int low, int high);
  /// A GUID in hexadecimal digits, with or without 0x, as 16 lower-case digits.
  std::optional<std::string> guid();
  /// The text up to a mark. The mark is skipped.
  std::optional<std::string_view> until(char mark);
  /// The text from the quote here to the last quote of the line, because a node description may contain quotes.
  std::optional<std::string_view> described();

 private:
  std::string_view text_;
  int line_;
  std::size_t at_ = 0;
};

}  // namespace fabricast
