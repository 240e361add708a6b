// Text of a study: its rows as a table, and the answer in a sentence.
//
// The answer names what decides: the best row, how many others are equal to it, and what it gives up against the
// fastest. It is also the `answer` of JSON and the first screen of the page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fabricast/plan/metric.hpp"
#include "fabricast/plan/report.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

/// Four significant digits or all digits of a whole number, with a letter from a million on: `12.35M`.
std::string compact(double value) {
  constexpr std::array<std::pair<double, const char*>, 3> letters = {{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}}};
  for (const auto& [least, letter] : letters)
    if (std::abs(value) >= least) return fmt::format("{:.4g}{}", value / least, letter);
  return std::abs(value) >= 1e3 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// Metrics of every table, in addition to those of the objective.
constexpr std::array usual = {"gpus", "time_us",  "step_s",  "interval", "busbw_gbps", "tokens_per_s",
                              "mfu",  "switches", "power_w", "cost",     "goodput"};

/// A metric of a row with its value, `time_us 123.4`; empty if it has none.
std::string stated(const SweepRow& row, std::string_view name) {
  const auto metric = find_metric(name);
  return metric && !row.values.empty() && row.values[*metric]
             ? fmt::format("{} {}", name, compact(*row.values[*metric]))
             : std::string();
}

/// How much more of a metric a row has than another: `3.1 % more time`, or `the same time`. Empty if a value is missing.
std::string against(const SweepRow& row, const SweepRow& other, std::string_view name, std::string_view what) {
  const auto metric = find_metric(name);
  if (!metric || !row.values[*metric] || !other.values[*metric] || *other.values[*metric] == 0) return {};
  const double more = 100 * (*row.values[*metric] / *other.values[*metric] - 1);
  if (std::abs(more) < 0.05) return fmt::format("the same {}", what);
  return fmt::format("{:.1f} % {} {}", std::abs(more), more < 0 ? "less" : "more", what);
}

class Table {
 public:
  void add(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()), 0);
    for (std::size_t c = 0; c < cells.size(); ++c) widths_[c] = std::max(widths_[c], cells[c].size());
    lines_.push_back(std::move(cells));
  }
  /// \param left  number of columns that are aligned left
  std::string text(std::size_t left) const {
    std::string out;
    for (const auto& line : lines_) {
      std::string text;
      for (std::size_t c = 0; c < line.size(); ++c)
        text += c < left ? fmt::format("{}{:<{}}", c > 0 ? "  " : "", line[c], widths_[c])
                         : fmt::format("  {:>{}}", line[c], widths_[c]);
      // Without trailing blanks, which version control would complain about.
      text.resize(text.find_last_not_of(' ') + 1);
      out += text + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> lines_;
  std::vector<std::size_t> widths_;
};

// Rows in the order of merit. Signs in the first column keep the table one line per row.
std::string row_table(const PlanReport& r, std::size_t top) {
  const std::vector<std::size_t> shown = shown_metrics(r);
  Table out;
  std::vector<std::string> head = {"#"};
  for (const SweepAxis& axis : r.study.axes) head.push_back(axis.name);
  for (const std::size_t m : shown)
    head.push_back(m == find_metric("interval") ? "factor" : std::string(metrics()[m].name));
  out.add(std::move(head));
  const std::size_t count = top > 0 ? std::min(top, r.decision.order.size()) : r.decision.order.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t number = r.decision.order[i];
    const SweepRow& row = r.rows[number];
    std::vector<std::string> cells = {fmt::format("{}{}{}", r.decision.best == number ? '>' : ' ',
                                                  r.decision.on_front[number] ? '*' : ' ',
                                                  r.decision.kept[number] ? ' ' : '-')};
    const std::vector<std::size_t> choices = choices_of(r.study, number);
    for (std::size_t a = 0; a < choices.size(); ++a) cells.push_back(r.study.axes[a].values[choices[a]].label);
    for (const std::size_t m : shown) cells.push_back(row.values[m] ? compact(*row.values[m]) : "");
    out.add(std::move(cells));
  }
  std::string text = out.text(1 + r.study.axes.size());
  if (count < r.decision.order.size()) text += fmt::format("# and {} more\n", r.decision.order.size() - count);
  return text;
}

}  // namespace

std::vector<std::size_t> shown_metrics(const PlanReport& r) {
  const Objective& o = r.decision.objective;
  std::vector<bool> wanted(metrics().size(), false);
  for (const char* name : usual)
    if (const auto m = find_metric(name)) wanted[*m] = true;
  wanted[o.metric] = true;
  for (const std::size_t m : o.front) wanted[m] = true;
  for (const Condition& c : o.keep)
    for (const auto* side : {&c.left, &c.right})
      for (const Factor& f : *side)
        if (f.kind == Factor::Kind::metric) wanted[f.metric] = true;
  // `time_s` repeats `time_us` or `step_s`.
  if (const auto time = find_metric("time_s")) wanted[*time] = false;
  std::vector<std::size_t> shown;
  for (std::size_t m = 0; m < wanted.size(); ++m)
    if (wanted[m] && std::any_of(r.rows.begin(), r.rows.end(), [&](const SweepRow& row) {
          return row.state == RowState::done && row.values[m].has_value();
        }))
      shown.push_back(m);
  return shown;
}

std::string row_text(const Study& study, std::size_t row) {
  std::vector<std::string> words;
  const std::vector<std::size_t> choices = choices_of(study, row);
  for (std::size_t a = 0; a < choices.size(); ++a)
    words.push_back(fmt::format("{} {}", study.axes[a].name, study.axes[a].values[choices[a]].label));
  return words.empty() ? "the scenario" : fmt::format("{}", fmt::join(words, ", "));
}

std::string goal_text(const Objective& o) {
  std::string text = fmt::format("{} {}", o.minimize ? "lowest" : "highest", metrics()[o.metric].name);
  for (std::size_t i = 0; i < o.keep.size(); ++i) text += (i == 0 ? " with " : ", ") + o.keep[i].text;
  return text;
}

/// Why one of several equal configurations is named.
std::string_view preference_text(const PlanReport& r) {
  const SweepRow& best = r.rows[*r.decision.best];
  for (const auto& [name, text] : {std::pair<std::string_view, std::string_view>{"cost", "the cheapest"},
                                   {"power_w", "the one with the lowest power"},
                                   {"time_s", "the fastest"}}) {
    const std::size_t metric = *find_metric(name);
    for (const std::size_t i : r.decision.ties) {
      const auto& other = r.rows[i].values[metric];
      if (other && best.values[metric] && *best.values[metric] < *other * (1 - tie_width)) return text;
    }
  }
  return "the first";
}

std::string answer_text(const PlanReport& r) {
  const Decision& d = r.decision;
  if (d.not_run > 0)
    return fmt::format("interrupted: {} of {} configurations were not run, so the best one is not known", d.not_run,
                       r.rows.size());
  if (!d.best && d.done == 0) return "no configuration was forecast";
  if (const auto kept = std::count(d.kept.begin(), d.kept.end(), true); !d.best && kept > 0)
    return fmt::format("{} has {}, so none is the best{}",
                       d.objective.keep.empty()
                           ? "no configuration"
                           : fmt::format("none of {} configurations that satisfy the conditions", kept),
                       metrics()[d.objective.metric].name,
                       is_of_prices(d.objective.metric) ? ": some lines of each bill have no price" : "");
  if (!d.best)
    return fmt::format("none of {} configurations satisfies the conditions ({})", d.done, goal_text(d.objective));
  const SweepRow& best = r.rows[*d.best];
  std::string text = fmt::format("{}: {}", goal_text(d.objective), row_text(r.study, *d.best));
  if (d.ties.size() > 1)
    text = fmt::format("{}: no difference between {} configurations, which are within {:g} %; of them {} is {}",
                       goal_text(d.objective), d.ties.size(), 100 * tie_width, preference_text(r),
                       row_text(r.study, *d.best));
  std::vector<std::string> facts;
  for (const std::string_view name : {std::string_view("time_us"), std::string_view("step_s"), std::string_view("cost"),
                                      metrics()[d.objective.metric].name})
    if (std::string fact = name == "time_s" ? std::string() : stated(best, name);
        !fact.empty() && std::find(facts.begin(), facts.end(), fact) == facts.end())
      facts.push_back(std::move(fact));
  if (!facts.empty()) text += fmt::format(" ({})", fmt::join(facts, ", "));
  const std::size_t gpus = *find_metric("gpus");
  // Compared only with the same number of GPUs: twice the GPUs being faster says nothing.
  if (d.fastest && *d.fastest != *d.best && r.rows[*d.fastest].values[gpus] == best.values[gpus]) {
    const SweepRow& fastest = r.rows[*d.fastest];
    text += fmt::format("; compared with the fastest ({}): {}", row_text(r.study, *d.fastest),
                        against(best, fastest, "time_s", "time"));
    if (const std::string cost = against(best, fastest, "cost", "cost"); !cost.empty()) text += ", " + cost;
  }
  return text;
}

std::string plan_text(const PlanReport& r, std::size_t top) {
  const Decision& d = r.decision;
  std::vector<std::string> axes;
  for (const SweepAxis& axis : r.study.axes) axes.push_back(fmt::format("{} ({})", axis.name, axis.values.size()));
  std::string out = heading_line(r.study.name.empty() ? r.study.file : r.study.name);
  out += fmt::format("# {} configurations of {}: {} forecast, {} refused", r.rows.size(), fmt::join(axes, " x "),
                     d.done, d.refused);
  if (d.not_run > 0) out += fmt::format(", {} not run", d.not_run);
  std::vector<std::string_view> front;
  for (const std::size_t m : d.objective.front) front.push_back(metrics()[m].name);
  out += fmt::format("\n# > the best; * on the front of {}; - does not satisfy the conditions\n",
                     fmt::join(front, " and "));
  for (const std::string& note : r.notes) out += "# " + comment_text(note) + "\n";
  out += row_table(r, top);
  std::size_t stated_of = 0;
  // A sweep over degrees may refuse thousands of rows for the same few reasons.
  constexpr std::size_t most_stated = 10;
  for (const SweepRow& row : r.rows)
    if (row.state == RowState::refused && stated_of++ < most_stated)
      out += fmt::format("# refused: {}: {}\n", row_text(r.study, row.row), row.why);
  if (stated_of > most_stated) out += fmt::format("# and {} more\n", stated_of - most_stated);
  out += "\n" + answer_text(r) + "\n";
  if (d.best && !r.study.axes.empty()) {
    out += "best row:";
    for (const std::string& word : words_of(r.study, *d.best)) out += fmt::format(" --set '{}'", word);
    out += "\n";
  }
  return out;
}

}  // namespace fabricast
