// Words of a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Without capitals; letters beyond ASCII stay as they are.
std::string lower_case(std::string_view text);

/// The parts between separators, empty ones too; of an empty text one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// On one line, and nothing that a terminal acts on: a blank for each control character; a question mark for each of U+0080
/// to U+009F, of which terminals take U+009B for an escape, and for each byte that is not UTF-8.
std::string printable(std::string_view text);

/// In double quotes, its own doubled: a field of CSV [RFC4180], a name in SQL.
std::string double_quoted(std::string_view text);

}  // namespace fabricast
