// A file in pieces, with positions: lines for formats of lines, single bytes for JSON of one long line.
//
// Memory is one buffer. A reader that has come to the end may go on when the file has grown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/live.hpp"

namespace fabricast::live {

/// The longest line, and the longest item of a JSON list.
constexpr std::size_t longest_record = std::size_t{1} << 20;

class ByteReader {
 public:
  /// \param piece  bytes to read at a time
  ByteReader(const LiveSource& source, std::size_t piece) : source_(source), buffer_(piece), piece_(piece) {}

  /// The bytes at hand, at least one unless the file ends here. Valid until the next call of any function.
  std::string_view rest();
  /// Moves past `count` of the bytes at hand.
  void skip(std::size_t count);
  /// The next byte, or -1 at the end.
  int peek() {
    const std::string_view text = rest();
    return text.empty() ? -1 : static_cast<unsigned char>(text.front());
  }

  /// Reads the next line, without its end. Lines longer than `longest_record` are empty, and `cut` is true.
  /// \param whole  whether the line must have an end: a file that is being written to may end in half a line
  /// \returns false at the end of the file
  bool next_line(std::string_view& text, bool& cut, bool whole = false);

  /// Appends all that is left. \returns false if that is more than `most` bytes
  bool read_all(std::string& to, std::size_t most);

  const std::string& name() const { return source_.name; }
  int line() const { return line_; }  ///< of the next byte, from 1; after `next_line`, of that line
  int column() const;                 ///< of the next byte, from 1
  std::uint64_t offset() const { return base_ + begin_; }

 private:
  bool fill();

  const LiveSource& source_;
  std::vector<char> buffer_;
  std::size_t piece_, begin_ = 0, end_ = 0;
  std::uint64_t base_ = 0, line_start_ = 0;
  int line_ = 1;
  bool pending_line_ = false;  ///< whether the line that `next_line` returned is still to be counted
};

}  // namespace fabricast::live
