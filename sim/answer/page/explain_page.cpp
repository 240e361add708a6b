// Pages of `explain`: the page of the forecast, and the changes that would help.
// The answer of the forecast is followed by the most effective change, so that both are on the first screen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report_parts.hpp"

namespace fabricast {

namespace {

std::string set_text(const std::vector<std::string>& set) {
  std::string text;
  for (const std::string& word : set) text += fmt::format("{}--set '{}'", text.empty() ? "" : " ", word);
  return text;
}

/// A table without rows: the change, its time, its gain, and the `--set` words to try it.
/// Rows are added by the caller, because collectives, training and inference have other records.
PageTable helps_table(std::string time_unit) {
  PageTable table;
  table.name = "helps";
  table.note = "Each change of this scenario was forecast separately. Gains do not add up.";
  table.columns = {{"change", Measure::text, {}, {}},
                   {"time", Measure::number, std::move(time_unit), {}},
                   {"gain", Measure::percent, {}, "fraction of the time that is saved"},
                   {"how", Measure::text, {}, "options to try it"}};
  return table;
}

PageSection helps_section(PageTable table) {
  PageSection section{"helps", "What would help", {}};
  if (table.rows.empty())
    section.blocks.emplace_back(Prose{"No change that was tried gains a significant amount of time."});
  else
    section.blocks.emplace_back(std::move(table));
  return section;
}

TableRow helps_row(const std::string& what, double time, double gain, const std::vector<std::string>& set) {
  return {
      {TableCell::of(what), TableCell::of(time), TableCell::of(gain), TableCell::of(set_text(set))}, false, false, {}};
}

/// A sentence about the best change that fits in memory.
std::string best_text(const std::string& what, double gain) {
  return fmt::format(" The most effective change: {} ({} less time).", what, value_text(gain, Measure::percent));
}

PageSection weighed_section(const Explanation& e) {
  const ForecastRow& row = e.forecast.rows.front();
  PageTable table;
  table.name = "weighed";
  table.note =
      "NCCL chooses by its own estimate; the forecast is Fabricast's. Unknown: Fabricast has no schedule for it.";
  table.columns = {{"algorithm", Measure::text, {}, {}},
                   {"protocol", Measure::text, {}, {}},
                   {"NCCL's estimate", Measure::number, "us", {}},
                   {"forecast", Measure::number, "us", {}}};
  for (const Candidate& c : row.plan.candidates) {
    const ForecastRow* own = e.weighed.find(c.algorithm, c.protocol);
    const bool runs = c.algorithm == row.algorithm && c.protocol == row.protocol;
    table.rows.push_back({{TableCell::of(fmt::format("{}{}", name_of(c.algorithm), runs ? " (runs)" : "")),
                           TableCell::of(std::string(name_of(c.protocol))), TableCell::of(c.estimate_us),
                           own ? TableCell::of(microseconds(own->time)) : TableCell()},
                          false,
                          false,
                          {}});
  }
  return {"weighed", "Candidates that NCCL considered", {std::move(table)}};
}

}  // namespace

Page explain_page(const Explanation& e, std::string command) {
  const World& world = e.forecast.world;
  Page page = collective_page(e.forecast, std::move(command));
  PageTable table = helps_table("us");
  for (const WhatIf& w : e.what_ifs)
    table.rows.push_back(helps_row(w.what, microseconds(w.times.front()), w.gain, w.set));
  if (!e.what_ifs.empty()) page.answer += best_text(e.what_ifs.front().what, e.what_ifs.front().gain);
  // `explain` forecasts one size, which makes no curve.
  page.sections.erase(page.sections.begin());
  if (!e.forecast.rows.front().plan.candidates.empty()) page.sections.insert(page.sections.begin(), weighed_section(e));
  // Only the flow engine forecasts changes: others would take minutes.
  if (world.scenario().network.engine == EngineKind::flow)
    page.sections.insert(page.sections.begin(), helps_section(std::move(table)));
  return page;
}

Page explain_step_page(const StepExplanation& e, std::string command) {
  Page page = step_page(e.forecast, std::move(command));
  PageTable table = helps_table("s");
  const StepWhatIf* best = nullptr;
  for (const StepWhatIf& w : e.what_ifs) {
    TableRow row = helps_row(w.what, w.time.value, w.gain, w.set);
    if (!w.fits) row.dropped = "does not fit in the memory of a GPU";
    if (w.fits && w.gain > 0 && !best) best = &w;
    table.rows.push_back(std::move(row));
  }
  if (best) page.answer += best_text(best->what, best->gain);
  page.sections.insert(page.sections.begin() + 1, helps_section(std::move(table)));
  return page;
}

Page explain_inference_page(const InferenceExplanation& e, std::string command) {
  const World& world = e.forecast.world;
  Page page = inference_page(e.forecast, std::move(command));
  PageTable table = helps_table("ms");
  table.columns[1].title = "step";
  // A larger batch makes the step longer, and yields more tokens: both are shown, with their sign.
  table.columns[2] = {"step, change", Measure::percent, {}, "relative to this scenario"};
  table.columns.insert(table.columns.begin() + 3,
                       {"throughput, change", Measure::percent, {}, "relative to this scenario"});
  if (goal_of(world) == InferenceGoal::step &&
      std::none_of(e.what_ifs.begin(), e.what_ifs.end(), [](const InferenceWhatIf& w) { return w.gain > 0; }))
    table.note += " None of them shortens the step: they trade a longer step for throughput.";
  const auto signed_cell = [](double change) {
    TableCell cell = TableCell::of(change);
    cell.text = fmt::format("{:+.1f} %", 100 * change);
    return cell;
  };
  for (const InferenceWhatIf& w : e.what_ifs) {
    TableRow row = helps_row(w.what, milliseconds(w.step), w.gain, w.set);
    row.cells[2] = signed_cell(w.step / e.forecast.step.time - 1);
    row.cells.insert(row.cells.begin() + 3, signed_cell(w.more_tokens));
    if (!w.fits) row.dropped = "does not fit in the memory of a GPU";
    table.rows.push_back(std::move(row));
  }
  page.sections.insert(page.sections.begin() + 1, helps_section(std::move(table)));
  return page;
}

}  // namespace fabricast
