// Small building blocks of parsers for logs and files of other programs: words, numbers and parts of a line.
//
// The functions never throw and never read beyond their argument; input may be any bytes. Spaces are blank, tab, CR, VT
// and FF; other bytes, including non-ASCII spaces, are ordinary characters. Views returned refer to the argument.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

bool is_space(char c);  ///< blank, tab, CR, VT or FF, in any locale
bool is_digit(char c);  ///< 0 to 9, in any locale

/// The text without spaces at either end.
std::string_view trimmed(std::string_view text);
/// The words of a text, separated by spaces.
std::vector<std::string_view> words_of(std::string_view text);
/// A decimal integer that is the whole word and fits in 64 bits.
std::optional<std::int64_t> whole_number(std::string_view word);
/// The same within -2^30 and 2^30, so that sums of a few such numbers do not overflow.
std::optional<int> small_number(std::string_view word);
/// Removes an integer and the spaces before it from the start of a text and returns it. Without one the text is
/// unchanged.
std::optional<int> take_number(std::string_view& text);
/// The text after the first `mark`, or nothing if there is no mark.
std::optional<std::string_view> after(std::string_view text, std::string_view mark);
/// Removes everything up to and including the first `mark` from the text and returns the part before the mark. Without
/// a mark this is the whole text.
std::string_view take_until(std::string_view& text, char mark);

/// Text from a file as messages may quote it: trimmed, printable, valid UTF-8, and of at most `most` bytes of the
/// original.
std::string shown(std::string_view text, std::size_t most = 200);

}  // namespace fabricast
