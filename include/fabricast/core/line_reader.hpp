// Reads a stream line by line in constant memory.
//
// Logs may be gigabytes long and may hold binary data without line ends, so a line is never held whole beyond
// `longest_line` bytes: longer lines arrive in pieces, which `starts` and `ends` mark. A line ends with LF. Any CR
// before it, or at the end of the last line, is dropped with it; the last line needs no end.
//
// A reader refers to its stream and is not copyable. Use it from one thread at a time.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <string_view>

namespace fabricast {

/// Length of a piece in bytes, 64 KiB. Lines longer than this arrive in pieces of this length, the last one shorter.
/// The buffer has four times this length.
constexpr std::size_t longest_line = std::size_t{1} << 16;

/// Iterates over the lines of a stream: `while (reader.next()) use(reader.text());`
class LineReader {
 public:
  /// \pre the stream outlives the reader
  explicit LineReader(std::istream& in);
  /// Advances to the next line, or to the next piece of a long line.
  /// \returns false at the end of the stream
  /// \throws UserError if the stream fails before its end
  bool next();
  /// The current line or piece without its line end. Valid until the next call of `next`.
  std::string_view text() const { return text_; }
  /// Number of the current line, from 1. All pieces of a line have the same number.
  int line() const { return line_; }
  bool starts() const { return starts_; }          ///< whether this is the first piece of its line
  bool ends() const { return ends_; }              ///< whether this is the last piece of its line
  bool whole() const { return starts_ && ends_; }  ///< whether the line came in one piece
  bool at_end() const { return at_end_; }          ///< whether `next` has returned false; there is no current line then

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
