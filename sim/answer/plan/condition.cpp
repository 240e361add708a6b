// Parses and evaluates the conditions of a study, such as `step_s <= 1.05 * best` (plan/condition.hpp has the grammar).
//
// Metrics are resolved to indices when a condition is parsed, so that a misspelt name is an error before the first
// forecast, which may be hours before the last one.
#include "fabricast/plan/condition.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "fabricast/plan/metric.hpp"

namespace fabricast {

namespace {

// Two-character signs come first: `<` would match the beginning of `<=`.
constexpr std::array<std::pair<std::string_view, Comparison>, 5> comparisons = {{{"<=", Comparison::at_most},
                                                                                 {">=", Comparison::at_least},
                                                                                 {"==", Comparison::equal},
                                                                                 {"<", Comparison::less},
                                                                                 {">", Comparison::more}}};

// Recursive descent, without parentheses, sums or precedence: * and / associate to the left.
class Parser {
 public:
  Parser(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  Condition read() {
    Condition c;
    c.text = text_;
    c.left = product();
    c.comparison = comparison();
    c.right = product();
    if (skip(), at_ < text_.size()) fail("the end");
    resolve_best(c);
    return c;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw UserError::at(path_, fmt::format("'{}': expected {} at character {}", text_, expected, at_ + 1),
                        "e.g. \"step_s <= 1.05 * best\"");
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::vector<Factor> product() {
    std::vector<Factor> factors = {factor()};
    for (skip(); at_ < text_.size() && (text_[at_] == '*' || text_[at_] == '/'); skip()) {
      const bool divide = text_[at_++] == '/';
      factors.push_back(factor());
      factors.back().divide = divide;
    }
    return factors;
  }

  Factor factor() {
    skip();
    Factor f;
    if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
      const std::string word = text_.substr(begin, at_ - begin);
      f.kind = word == "best" ? Factor::Kind::best : Factor::Kind::metric;
      if (f.kind == Factor::Kind::metric) f.metric = metric_named(word, path_);
      return f;
    }
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), f.number);
    if (code != std::errc() || !std::isfinite(f.number)) fail("a number, a metric or `best`");
    at_ = static_cast<std::size_t>(end - text_.data());
    return f;
  }

  Comparison comparison() {
    skip();
    for (const auto& [sign, meaning] : comparisons)
      if (text_.compare(at_, sign.size(), sign) == 0) {
        at_ += sign.size();
        return meaning;
      }
    fail("<, <=, >, >= or ==");
  }

  /// Assigns each `best` to the only metric of the condition.
  /// Metrics are of different kinds, so with two of them it would not be clear whose best value is meant. gpus, for
  /// example, has no better direction, and so no best value.
  void resolve_best(Condition& c) const {
    std::optional<std::size_t> metric;
    std::size_t named = 0, asked = 0;
    for (const auto* side : {&c.left, &c.right})
      for (const Factor& f : *side) {
        if (f.kind == Factor::Kind::metric) {
          metric = f.metric;
          ++named;
        }
        if (f.kind == Factor::Kind::best) ++asked;
      }
    if (named == 0) throw UserError::at(path_, fmt::format("'{}' names no metric", text_));
    if (asked == 0) return;
    if (named > 1)
      throw UserError::at(path_, fmt::format("'{}': `best` is ambiguous with several metrics", text_),
                          "name one metric in a condition with `best`");
    if (metrics()[*metric].better == Better::neither)
      throw UserError::at(path_, fmt::format("'{}': {} has no best value", text_, metrics()[*metric].name));
    for (auto* side : {&c.left, &c.right})
      for (Factor& f : *side)
        if (f.kind == Factor::Kind::best) f.metric = *metric;
  }

  const std::string& text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

// Empty if a factor has no value in this row, or would divide by zero. The condition does not hold then: a row whose
// cost is unknown is not within a budget.
std::optional<double> value_of(const std::vector<Factor>& factors, const SweepRow& row,
                               const std::vector<std::optional<double>>& best) {
  double product = 1;
  for (const Factor& f : factors) {
    std::optional<double> value = f.number;
    if (f.kind == Factor::Kind::metric) value = row.values[f.metric];
    if (f.kind == Factor::Kind::best) value = best[f.metric];
    if (!value || (f.divide && *value == 0)) return std::nullopt;
    product = f.divide ? product / *value : product * *value;
  }
  return product;
}

}  // namespace

Condition parse_condition(const std::string& text, const std::string& path) { return Parser(text, path).read(); }

// Over all rows, also those that other conditions drop. Otherwise the meaning of `best` would depend on the order in
// which conditions are applied.
std::vector<std::optional<double>> best_values(const std::vector<SweepRow>& rows) {
  std::vector<std::optional<double>> best(metrics().size());
  for (const SweepRow& row : rows)
    for (std::size_t m = 0; m < row.values.size(); ++m) {
      const Better better = metrics()[m].better;
      if (!row.values[m] || better == Better::neither) continue;
      if (!best[m] || (better == Better::lower ? *row.values[m] < *best[m] : *row.values[m] > *best[m]))
        best[m] = row.values[m];
    }
  return best;
}

bool holds(const Condition& c, const SweepRow& row, const std::vector<std::optional<double>>& best) {
  if (row.state != RowState::done) return false;
  const auto left = value_of(c.left, row, best), right = value_of(c.right, row, best);
  if (!left || !right) return false;
  switch (c.comparison) {
    case Comparison::less: return *left < *right;
    case Comparison::at_most: return *left <= *right;
    case Comparison::more: return *left > *right;
    case Comparison::at_least: return *left >= *right;
    case Comparison::equal: return *left == *right;
  }
  return false;
}

}  // namespace fabricast
