// Reads lines of any length in bounded memory: a longer line is returned in pieces, and the caller sees where a line
// starts and ends. Logs may have gigabytes, and a binary file may have no line ends at all.
#include "fabricast/core/line_reader.hpp"

#include <algorithm>
#include <cstring>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {
constexpr std::size_t buffer_size = 4 * longest_line;
}

LineReader::LineReader(std::istream& in) : in_(in), buffer_(std::make_unique_for_overwrite<char[]>(buffer_size)) {}

void LineReader::fill() {
  // What is left of the buffer moves to its beginning, so that a line is contiguous.
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ < buffer_size && in_.good()) {
    in_.read(buffer_.get() + end_, static_cast<std::streamsize>(buffer_size - end_));
    end_ += static_cast<std::size_t>(in_.gcount());
  }
  if (in_.bad()) throw UserError("the file cannot be read to its end");
}

bool LineReader::next() {
  const char* from = buffer_.get() + begin_;
  const auto* newline = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
  // No complete line in the buffer, and not yet a full piece.
  if (!newline && end_ - begin_ <= longest_line) {
    fill();
    from = buffer_.get() + begin_;
    newline = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
  }
  if (begin_ == end_) {
    at_end_ = true;
    text_ = {};
    return false;
  }
  const std::size_t rest = newline ? static_cast<std::size_t>(newline - from) : end_ - begin_;
  const std::size_t size = std::min(rest, longest_line);
  starts_ = ends_;
  // A piece begins a line if the one before ended one. Only a piece that ends its line consumes the line end.
  ends_ = size == rest;
  if (starts_) ++line_;
  begin_ += size + (ends_ && newline ? 1 : 0);
  text_ = {from, size};
  if (ends_)
    // Line ends of Windows.
    while (text_.ends_with('\r')) text_.remove_suffix(1);
  return true;
}

}  // namespace fabricast
