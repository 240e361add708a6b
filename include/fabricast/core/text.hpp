// Text as bytes: case, splitting, and making foreign text safe to print.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// The text with A to Z in lower case. Other bytes, including letters beyond ASCII, are unchanged.
std::string lower_case(std::string_view text);

/// The parts between separators, including empty ones. An empty text gives one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// The text on one line, without anything that a terminal interprets. Control characters become blanks. U+0080 to
/// U+009F become question marks, because terminals take U+009B for an escape; so do bytes that are not valid UTF-8.
std::string printable(std::string_view text);

/// A number of things: "1 node", "2 nodes". \param noun  in the singular; its plural ends in s
std::string counted(std::int64_t n, std::string_view noun);

/// The text in double quotes, with its own double quotes doubled: a field of CSV [RFC4180] or a name in SQL.
std::string double_quoted(std::string_view text);

}  // namespace fabricast
