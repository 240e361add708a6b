// Diagnostics: positions in files, and the text that a terminal shows. Texts of users appear in messages, so everything
// printed passes `printable`: control characters and invalid UTF-8 must not reach a terminal.
#include "fabricast/core/error.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/text.hpp"

namespace fabricast {

// Columns count bytes, from 1, as compilers do.
SourceSpan span_at(const std::string& file, std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const auto last = before.rfind('\n');
  const std::size_t column = last == std::string_view::npos ? before.size() : before.size() - last - 1;
  return {file, static_cast<int>(1 + std::count(before.begin(), before.end(), '\n')), static_cast<int>(column + 1), 1};
}

std::size_t find_not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    // Continuation bytes cannot begin a character, 0xc0 and 0xc1 only begin overlong forms, and 0xf5 and above exceed
    // U+10FFFF.
    if (c >= 0x80 && (c < 0xc2 || c >= 0xf5)) return i;
    const std::size_t more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    if (i + more >= text.size()) return i;
    for (std::size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return i;
    // Overlong forms, UTF-16 surrogates and code points above U+10FFFF: JSON writers refuse them.
    const auto second = static_cast<unsigned char>(more > 0 ? text[i + 1] : 0);
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0) || (c == 0xf0 && second < 0x90) ||
        (c == 0xf4 && second >= 0x90))
      return i;
    i += more + 1;
  }
  return std::string_view::npos;
}

namespace {

/// The part of a source line that is shown: at most `excerpt` bytes around the position, printable.
struct Excerpt {
  std::string text;
  int column = 1;  ///< the position in `text`
};

constexpr int excerpt = 120;

Excerpt excerpt_of(std::string_view line, int column) {
  const int size = static_cast<int>(line.size());
  // A long line is cut so that the position is visible with 20 characters before it.
  const int begin = column > excerpt - 20 ? std::min(column - 20, size) : 0;
  Excerpt e{std::string(line.substr(static_cast<std::size_t>(begin), excerpt)), column - begin};
  if (begin > 0) e.text.replace(0, 3, "...");
  if (size > begin + excerpt) e.text.replace(e.text.size() - 3, 3, "...");
  e.text = printable(e.text);  // a tab becomes one blank, as columns count it; a cut may split a multi-byte character
  return e;
}

}  // namespace

std::string render(const Diagnostic& d, std::string_view source_line) {
  const char* kind = d.severity == Diagnostic::Severity::error ? "error" : "warning";
  std::string text;
  if (!d.where.file.empty()) {
    text += printable(d.where.file);
    if (d.where.line > 0) text += fmt::format(":{}:{}", d.where.line, d.where.column);
    text += ": ";
  }
  text += fmt::format("{}: {}{}{}\n", kind, printable(d.path), d.path.empty() ? "" : ": ", printable(d.message));
  if (d.where.line > 0 && !source_line.empty()) {
    // As compilers do: the line with its number, and carets below what is wrong.
    const Excerpt e = excerpt_of(source_line, std::max(1, d.where.column));
    const int room = static_cast<int>(e.text.size()) - e.column + 1;
    text += fmt::format("{:5} | {}\n", d.where.line, e.text);
    text += fmt::format("      | {:>{}}{:^<{}}\n", "", e.column - 1, "", std::max(1, std::min(d.where.width, room)));
  }
  if (!d.hint.empty()) text += fmt::format("  hint: {}\n", printable(d.hint));
  return text;
}

namespace {
// The text of what(), for callers that do not print diagnostics themselves.
std::string summary(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics) text += render(d);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}
}  // namespace

UserError::UserError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(summary(diagnostics)), diagnostics_(std::move(diagnostics)) {}

UserError::UserError(std::string message, std::string hint) : UserError(at({}, std::move(message), std::move(hint))) {}

UserError UserError::at(std::string path, std::string message, std::string hint) {
  std::vector<Diagnostic> one(1);
  one[0].path = std::move(path);
  one[0].message = std::move(message);
  one[0].hint = std::move(hint);
  return UserError(std::move(one));
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(fmt::format("{}:{}: check '{}' failed: {}", file, line, condition, message));
}

}  // namespace fabricast
