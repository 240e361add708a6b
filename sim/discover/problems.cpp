// Collects problems of a file up to a limit: a file of the wrong kind has a fault in every line, and the first thousand
// say enough. Errors are still counted beyond the limit.
#include "fabricast/discover/problems.hpp"

#include <algorithm>

namespace fabricast {

namespace {
constexpr std::size_t most_problems = 1000;
}

void FileProblems::error(int line, int column, std::string message, std::string hint) {
  ++errors_;
  if (errors_list_.size() < most_problems)
    errors_list_.push_back(
        {Diagnostic::Severity::error, {file_, line, std::max(1, column), 1}, {}, std::move(message), std::move(hint)});
}

void FileProblems::warning(int line, std::string message, std::string hint) {
  if (warnings_list_.size() < most_problems)
    warnings_list_.push_back(
        {Diagnostic::Severity::warning, {file_, line, 1, 1}, {}, std::move(message), std::move(hint)});
}

void FileProblems::check() const {
  if (failed()) throw UserError(errors());
}

std::vector<Diagnostic> FileProblems::sorted(std::vector<Diagnostic> list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.where.line < b.where.line; });
  return list;
}

}  // namespace fabricast
