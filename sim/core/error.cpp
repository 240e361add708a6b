#include "fabricast/core/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricast {

std::string render(const Diagnostic& d, std::string_view source_line) {
  const char* kind = d.severity == Diagnostic::Severity::error ? "error" : "warning";
  std::string text;
  if (!d.where.file.empty()) {
    text += d.where.file;
    if (d.where.line > 0) text += fmt::format(":{}:{}", d.where.line, d.where.column);
    text += ": ";
  }
  text += fmt::format("{}: {}{}{}\n", kind, d.path, d.path.empty() ? "" : ": ", d.message);
  if (d.where.line > 0 && !source_line.empty()) {
    text += fmt::format("{:5} | {}\n", d.where.line, source_line);
    text += fmt::format("      | {:>{}}{:^<{}}\n", "", d.where.column - 1, "", std::max(1, d.where.width));
  }
  if (!d.hint.empty()) text += fmt::format("  hint: {}\n", d.hint);
  return text;
}

namespace {
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
  one[0].path = std::move(path), one[0].message = std::move(message), one[0].hint = std::move(hint);
  return UserError(std::move(one));
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(fmt::format("{}:{}: '{}' does not hold: {}", file, line, condition, message));
}

}  // namespace fabricast
