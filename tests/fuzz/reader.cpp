#include "reader.hpp"

#include <algorithm>
#include <cstdlib>

namespace fabricast::fuzz {

namespace {

/// Line `number` of a text, from 1; nothing if it has fewer.
std::optional<std::string_view> line_of(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

void require(bool condition) {
  if (!condition) std::abort();
}

void require_clean(std::string_view text) {
  require(find_not_utf8(text) == std::string_view::npos);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    require(c == '\n' || (c >= 0x20 && c != 0x7f));
    // U+0080 to U+009F
    require(c != 0xc2 || static_cast<unsigned char>(text[i + 1]) >= 0xa0);
  }
}

void require_stated(const Diagnostic& d, std::string_view text) {
  require(!d.message.empty());
  if (d.where.file != "file" || d.where.line == 0) return require_clean(render(d));
  const auto line = line_of(text, d.where.line);
  require(line.has_value());
  require(d.where.column >= 1 && static_cast<std::size_t>(d.where.column) <= line->size() + 1);
  require_clean(render(d, *line));
}

void require_stated(const UserError& e, std::string_view text) {
  require(!e.diagnostics().empty());
  for (const Diagnostic& d : e.diagnostics()) require_stated(d, text);
}

}  // namespace fabricast::fuzz
