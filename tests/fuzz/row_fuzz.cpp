// A row of a sweep, as ranks send it to each other: reads back to the same text, or is no row.
#include "fabricast/plan/row.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_row(std::string_view bytes) {
  try {
    const std::string text = row_to_json(row_from_json(std::string(bytes)));
    require(row_to_json(row_from_json(text)) == text);
  } catch (const InternalError&) {}  // ranks are our own
}

}  // namespace fabricast::fuzz
