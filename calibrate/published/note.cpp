// Splits the note of a row into its parts.
//
// Notes are written by people. Parts with a key have a fixed meaning; the rest is searched for words (settings.cpp).
#include <charconv>

#include "fabricast/core/scan.hpp"
#include "parts.hpp"

namespace fabricast::published {

Note note_of(const PublishedRow& row) {
  Note note;
  std::string_view rest = row.note;
  while (!rest.empty()) {
    const std::string_view part = trimmed(take_until(rest, ';'));
    if (const auto software = after(part, "sw="); software && part.starts_with("sw="))
      note.software = trimmed(*software);
    else if (const auto network = after(part, "net="); network && part.starts_with("net="))
      note.network = trimmed(*network);
    // Confidence and completeness are for readers of the table.
    else if (!part.starts_with("conf=") && !part.starts_with("complete="))
      note.remarks += (note.remarks.empty() ? "" : "; ") + std::string(part);
  }
  return note;
}

std::int64_t Note::number(std::string_view words) const {
  const std::size_t at = remarks.find(words);
  if (at == std::string::npos) return 0;
  int number = 0;
  std::from_chars(remarks.data() + at + words.size(), remarks.data() + remarks.size(), number);
  return number;
}

}  // namespace fabricast::published
