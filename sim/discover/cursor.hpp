// A place in a line that is read from left to right.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "fabricast/discover/problems.hpp"

namespace fabricast {

class Cursor {
 public:
  Cursor(std::string_view text, int line) : text_(text), line_(line) {}

  bool at_end() const { return at_ >= text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }
  int line() const { return line_; }
  int column() const { return static_cast<int>(at_) + 1; }
  void skip(std::size_t count) { at_ = std::min(at_ + count, text_.size()); }

  void spaces();
  /// Takes a word if it stands here.
  bool take(std::string_view word);
  /// A number in decimals within limits.
  std::optional<int> number(int low, int high);
  /// A GUID in hexadecimal digits, with or without 0x, as 16 digits.
  std::optional<std::string> guid();
  /// What stands up to a mark, which is passed over; nothing if the mark does not come.
  std::optional<std::string_view> until(char mark);
  /// From the quote here to the last one of the line: a node description may hold quotes itself.
  std::optional<std::string_view> described();

 private:
  std::string_view text_;
  int line_;
  std::size_t at_ = 0;
};

}  // namespace fabricast
