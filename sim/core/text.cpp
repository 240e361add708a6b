// Text without locale: only ASCII letters change case, and everything else is left as bytes.
#include "fabricast/core/text.hpp"

#include <algorithm>

#include "fabricast/core/error.hpp"

namespace fabricast {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

// Empty parts count, and a text without separators has one part.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string counted(std::int64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

// One `?` for each byte or character that cannot be shown, and a blank for each control character.
std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t good = std::min(find_not_utf8(text), text.size());
    for (std::size_t i = 0; i < good; ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      // U+0080 to U+009F are control characters, too, and some terminals obey them.
      const bool second_set = c == 0xc2 && i + 1 < good && static_cast<unsigned char>(text[i + 1]) < 0xa0;
      out += second_set ? '?' : c < 0x20 || c == 0x7f ? ' ' : text[i];
      if (second_set) ++i;
    }
    if (good < text.size()) out += '?';
    text.remove_prefix(std::min(good + 1, text.size()));
  }
  return out;
}

// A field of CSV: quotes are doubled [RFC4180].
std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace fabricast
