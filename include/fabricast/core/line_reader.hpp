// A stream by lines, in constant memory.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <string_view>

namespace fabricast {

/// Longer lines come in pieces.
constexpr std::size_t longest_line = std::size_t{1} << 16;

class LineReader {
 public:
  explicit LineReader(std::istream& in);
  /// The next line, or the next piece of a long one. \returns false at the end
  bool next();
  /// Without its end; valid until `next`.
  std::string_view text() const { return text_; }
  /// Counts from 1.
  int line() const { return line_; }
  bool starts() const { return starts_; }  ///< the first piece of its line
  bool ends() const { return ends_; }      ///< the last piece
  bool whole() const { return starts_ && ends_; }
  bool at_end() const { return at_end_; }  ///< `next` found nothing more; there is no current line

 private:
  void fill();

  std::istream& in_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::string_view text_;
  int line_ = 0;
  bool starts_ = true, ends_ = true, at_end_ = false;
};

}  // namespace fabricast
