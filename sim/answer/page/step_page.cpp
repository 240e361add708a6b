// The page of a training step or an execution trace.
// A trace has no tokens, FLOPs or memory: figures and sections of these are left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../step/parts.hpp"
#include "report_parts.hpp"

namespace fabricast {

namespace {

/// The time of each part of a step: the mean over all GPUs, then by stage.
BarChart breakdown_chart(const StepForecast& f) {
  BarChart chart;
  chart.name = "breakdown";
  chart.title = "Where the time of a GPU goes";
  chart.note =
      "Mean over all GPUs, then by pipeline stage. Exposed: waiting for collectives of that kind that computation does "
      "not hide. Bubble: waiting for other stages.";
  chart.value = {"time of a step", Measure::seconds, {}, ChartScale::linear, true};
  std::vector<const ActorTimes*> times = {&f.mean};
  chart.bars = {"mean"};
  if (f.stages.size() > 1)
    // With many stages a few are shown (report_parts.hpp).
    for (const std::size_t s : some_of(f.stages.size())) {
      times.push_back(&f.stages[s]);
      chart.bars.push_back(f.program.actors[s].name);
    }
  for (std::size_t bar = 0; bar < times.size(); ++bar) {
    std::vector<StepLine> lines = breakdown_lines(*times[bar]);
    if (times[bar]->bubble > Seconds{}) lines.push_back({"bubble", times[bar]->bubble});
    for (const StepLine& line : lines) {
      auto part =
          std::find_if(chart.parts.begin(), chart.parts.end(), [&](const BarPart& p) { return p.name == line.what; });
      // Stages may have parts that others do not, such as the vocabulary; their bars have 0 there.
      if (part == chart.parts.end()) part = chart.parts.insert(part, {line.what, std::vector<double>(times.size(), 0)});
      part->values[bar] = line.time.value;
    }
  }
  return chart;
}

// Unlike the chart, the table splits the bubble by its causes.
PageTable breakdown_table(const StepForecast& f) {
  PageTable table;
  table.name = "breakdown";
  table.title = "Mean over all GPUs";
  table.columns = {{"what", Measure::text, {}, {}},
                   {"time", Measure::number, "ms", {}},
                   {"share", Measure::percent, "of the step", {}}};
  std::vector<StepLine> lines = breakdown_lines(f.mean);
  for (StepLine& line : bubble_lines(f)) lines.push_back(std::move(line));
  for (const StepLine& line : lines)
    table.rows.push_back(
        {{TableCell::of(line.what), TableCell::of(milliseconds(line.time)), TableCell::of(line.time / f.time)},
         false,
         false,
         {}});
  return table;
}

/// A sentence about what takes most of the time apart from computation.
std::string loss_text(const StepForecast& f) {
  StepLine most;
  const auto consider = [&](const StepLine& line) {
    if (line.time > most.time) most = line;
  };
  for (const StepLine& line : breakdown_lines(f.mean))
    if (line.what.starts_with("exposed")) consider(line);
  if (f.mean.bubble > Seconds{}) consider({"bubble", f.mean.bubble});
  if (f.mean.interference > Seconds{}) consider({"computation slowed by collectives", f.mean.interference});
  // Less than half a percent is not worth a sentence.
  if (most.time < 0.005 * f.time) return "Nearly all of it is computation.";
  std::string what = most.what;
  if (what.starts_with("exposed: ")) what = "waiting for collectives of " + what.substr(9);
  if (what == "bubble") what = "waiting for other stages of the pipeline";
  return fmt::format("The largest loss is {}: {} of the step.", what, value_text(most.time / f.time, Measure::percent));
}

// A sentence that can be quoted by itself: time, interval, rate, and what is lost.
std::string answer_text(const World& world, const StepForecast& f) {
  const std::string what =
      f.tokens > 0 ? fmt::format("One training step of {}", step_of(world).model.name) : std::string("The trace");
  std::string text = fmt::format("{} takes {}", what, seconds_text(f.time));
  if (f.factor > 1) text += fmt::format(" (90 % interval {})", range_text(f.time / f.factor, f.time * f.factor));
  if (f.tokens > 0)
    text += fmt::format(": {} tokens/s, {} of the GPUs' peak", number_text(f.tokens_per_second(), 3),
                        value_text(f.mfu(), Measure::percent));
  return text + ". " + loss_text(f);
}

std::vector<KeyFigure> figures_of(const StepForecast& f) {
  // A rate has the factor of the time: the interval is symmetric in the logarithm.
  const auto between = [&](double low, double high, Measure measure, std::string_view unit) {
    return f.factor > 1 ? fmt::format("90 % interval {}", range_text(low, high, measure, unit)) : std::string();
  };
  std::vector<KeyFigure> figures = {
      {"step", seconds_text(f.time), between(f.time.value / f.factor, f.time.value * f.factor, Measure::seconds, {})}};
  if (f.tokens > 0) {
    const double rate = f.tokens_per_second();
    figures.push_back({"throughput", value_text(rate, Measure::number, "tokens/s", 3),
                       between(rate / f.factor, rate * f.factor, Measure::number, "tokens/s")});
    figures.push_back({"model FLOPs utilization (MFU)", value_text(f.mfu(), Measure::percent),
                       between(f.mfu() / f.factor, f.mfu() * f.factor, Measure::percent, {})});
  }
  if (!f.memory.stages.empty())
    figures.push_back({"memory of the fullest GPU", value_text(f.memory.share(), Measure::percent),
                       fmt::format("of {}", value_text(fractional(f.memory.capacity), Measure::bytes))});
  figures.push_back({"GPUs", number_text(static_cast<double>(f.gpus)), {}});
  return figures;
}

}  // namespace

Page step_page(const StepForecast& f, std::string command) {
  const World& world = f.world;
  Page page = empty_page(world, std::move(command));
  page.context = gpus_text(world, f.gpus);
  page.answer = answer_text(world, f);
  page.figures = figures_of(f);
  page.fingerprint = fmt::format("{:016x}", f.fingerprint);
  page.sections.push_back({"breakdown", "Where the time goes", {breakdown_chart(f), breakdown_table(f)}});
  if (!f.collectives.empty())
    page.sections.push_back({"network", "Communication", {collective_page_table(f.program, f.collectives)}});
  if (!f.memory.stages.empty())
    page.sections.push_back({"memory", "Memory", {memory_chart(f.memory.stages, f.memory.capacity)}});
  if (f.samples > 1) page.sections.push_back(samples_section(f.sample_times, "The step"));
  return page;
}

}  // namespace fabricast
