// Reads a file in pieces. The file is opened again for each piece (import_job.cpp): a job of thousands of ranks has more
// files than a process may hold open.
#include "byte_reader.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace fabricast::live {

bool ByteReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    base_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < piece_ / 2) buffer_.resize(std::max(buffer_.size() * 2, end_ + piece_));
  const std::size_t got = source_.read(base_ + end_, buffer_.data() + end_, buffer_.size() - end_);
  end_ += got;
  return got > 0;
}

std::string_view ByteReader::rest() {
  if (begin_ == end_) fill();
  return {buffer_.data() + begin_, end_ - begin_};
}

void ByteReader::skip(std::size_t count) {
  const char* at = buffer_.data() + begin_;
  const char* const end = at + count;
  for (const char* found = at; (found = static_cast<const char*>(std::memchr(found, '\n', end - found))); ++found) {
    if (line_ < std::numeric_limits<int>::max()) ++line_;
    line_start_ = base_ + begin_ + static_cast<std::size_t>(found - at) + 1;
  }
  begin_ += count;
}

int ByteReader::column() const {
  const std::uint64_t column = base_ + begin_ - line_start_ + 1;
  return static_cast<int>(std::min<std::uint64_t>(column, std::numeric_limits<int>::max()));
}

bool ByteReader::next_line(std::string_view& text, bool& cut, bool whole) {
  cut = false;
  if (pending_line_ && line_ < std::numeric_limits<int>::max()) ++line_;
  pending_line_ = false;
  std::size_t searched = 0;
  for (;;) {
    const char* from = buffer_.data() + begin_;
    const std::size_t have = end_ - begin_;
    const auto* found =
        have > searched ? static_cast<const char*>(std::memchr(from + searched, '\n', have - searched)) : nullptr;
    if (found) {
      const auto size = static_cast<std::size_t>(found - from);
      text = cut ? std::string_view() : std::string_view(from, size);
      begin_ += size + 1;
      line_start_ = base_ + begin_;
      pending_line_ = true;
      if (text.ends_with('\r')) text.remove_suffix(1);
      return true;
    }
    searched = have;
    if (have > longest_record || (cut && have > 0)) {
      // The rest of a line that is too long is dropped piece by piece.
      cut = true;
      begin_ = end_;
      searched = 0;
    }
    if (fill()) continue;
    if (whole || (begin_ == end_ && !cut)) return false;
    text = cut ? std::string_view() : std::string_view(buffer_.data() + begin_, end_ - begin_);
    begin_ = end_;
    pending_line_ = true;
    return true;
  }
}

bool ByteReader::read_all(std::string& to, std::size_t most) {
  for (std::string_view text = rest(); !text.empty(); text = rest()) {
    if (to.size() + text.size() > most) return false;
    to.append(text);
    skip(text.size());
  }
  return true;
}

}  // namespace fabricast::live
