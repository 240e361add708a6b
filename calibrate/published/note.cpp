// The note of a row, by its parts.
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
    else if (!part.starts_with("conf=") && !part.starts_with("complete="))
      note.remarks += (note.remarks.empty() ? "" : "; ") + std::string(part);
  }
  return note;
}

}  // namespace fabricast::published
