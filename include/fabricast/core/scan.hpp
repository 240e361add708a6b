// Words and numbers of a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

bool is_space(char c);
bool is_digit(char c);
std::string_view trimmed(std::string_view text);
/// Words between spaces and tabs.
std::vector<std::string_view> words_of(std::string_view text);
/// A whole number that fills the word and fits.
std::optional<std::int64_t> whole_number(std::string_view word);
std::optional<int> small_number(std::string_view word);
/// The whole number at the start of a text, which is then taken off. Spaces before it are passed over.
std::optional<int> take_number(std::string_view& text);
/// What follows the first `mark`; empty if there is none.
std::optional<std::string_view> after(std::string_view text, std::string_view mark);
/// What stands before the first `mark`, which is then taken off with it; all of it if there is none.
std::string_view take_until(std::string_view& text, char mark);

/// A text of a file as we may write it: printable, UTF-8, not endless.
std::string shown(std::string_view text, std::size_t most = 200);

}  // namespace fabricast
