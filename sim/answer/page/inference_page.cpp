// The page of inference: steps, requests, batch sizes.
// With requests, the page begins with their waits; without, with the step.
#include <fmt/format.h>

#include <algorithm>

#include "../inference/parts.hpp"
#include "../step/parts.hpp"
#include "fabricast/core/quantity.hpp"
#include "report_parts.hpp"

namespace fabricast {

namespace {

// Three digits: forecasts are not exact to more.
std::string rate_text(double tokens) { return value_text(tokens, Measure::number, "tokens/s", 3); }

BarChart breakdown_chart(const InferenceForecast& f, std::string_view what) {
  BarChart chart;
  chart.name = "breakdown";
  chart.title = "Where the time of a GPU goes, mean over all GPUs";
  chart.note = "Collectives count only where computation does not hide them. Bubble: waiting for other stages.";
  chart.value = {fmt::format("time of {}", what), Measure::seconds, {}, ChartScale::linear, true};
  chart.bars = {std::string(what)};
  for (const InferenceLine& line : inference_lines(f.step.mean))
    chart.parts.push_back(
        {line.exposed ? fmt::format("exposed: {} parallelism", line.what) : line.what, {line.time.value}});
  return chart;
}

// With prefill on GPUs of its own, the same GPUs without it are a second row, for comparison.
PageTable serving_table(const InferenceForecast& f) {
  PageTable table;
  table.name = "serving";
  table.title = "Requests, end to end";
  table.columns = {{"how", Measure::text, {}, {}},
                   {"throughput", Measure::number, "tokens/s", "of output"},
                   {"per GPU", Measure::number, "tokens/s", {}},
                   {"TTFT", Measure::number, "ms", "time to first token: mean, with the time in the queue"},
                   {"p99", Measure::number, "ms", "of the time to first token"},
                   {"TPOT", Measure::number, "ms", "time per output token: mean"},
                   {"p99", Measure::number, "ms", "of the time per output token of a request"},
                   {"longest gap", Measure::number, "ms", "between two tokens of a request"},
                   {"request", Measure::number, "s", "from its arrival to its last token, mean"}};
  const auto add = [&](std::string how, const Serving& s) {
    table.rows.push_back(
        {{TableCell::of(std::move(how)), TableCell::of(s.tokens_per_second),
          TableCell::of(s.tokens_per_second / static_cast<double>(f.gpus)),
          TableCell::of(milliseconds(s.first_token.mean)), TableCell::of(milliseconds(s.first_token.p99)),
          TableCell::of(milliseconds(s.inter_token.mean)), TableCell::of(milliseconds(s.inter_token.p99)),
          TableCell::of(milliseconds(s.inter_token_worst)), TableCell::of(s.request.mean.value)},
         false,
         false,
         {}});
  };
  if (f.disaggregated) add("prefill and decode on separate GPUs", f.disaggregated->serving);
  add(f.disaggregated ? "prefill and decode on all GPUs" : "prefill and decode", *f.shared);
  return table;
}

// The trade between throughput and latency: a larger batch reads the weights once for more sequences, so a step takes
// longer but yields more tokens. The table has the memory, which ends the trade.
PageSection batches_section(const World& world, const InferenceForecast& f) {
  const int own = inference_of(world).batch;
  PageSection section{"batches", "Throughput and latency by batch size", {}};
  LineChart rate, step;
  PageTable table;
  table.name = "batches";
  table.columns = {{"batch", Measure::number, {}, "sequences per replica"},
                   {"step", Measure::number, "ms", {}},
                   {"throughput", Measure::number, "tokens/s", {}},
                   {"memory", Measure::number, "GiB", "per GPU"}};
  ChartSeries rates{"throughput", {}, {}}, steps{"step", {}, {}};
  for (const BatchRow& row : f.batches) {
    rate.at.push_back(row.batch);
    rates.y.push_back(row.tokens_per_second);
    steps.y.push_back(row.step.value);
    table.rows.push_back({{TableCell::of(static_cast<double>(row.batch)), TableCell::of(milliseconds(row.step)),
                           TableCell::of(row.tokens_per_second), TableCell::of(gibibytes(row.memory))},
                          row.batch == own,
                          false,
                          {}});
  }
  // The scenario's own batch is marked in words: it is not the best row, only this one.
  if (std::any_of(table.rows.begin(), table.rows.end(), [](const TableRow& r) { return r.best; }))
    for (TableRow& r : table.rows)
      if (r.best) {
        r.best = false;
        r.cells.front().text = number_text(r.cells.front().value) + " (this one)";
      }
  step.at = rate.at;
  rate.x = step.x = {"batch per replica", Measure::number, {}, ChartScale::logarithmic, false};
  rate.name = "throughput";
  rate.title = "Throughput by batch size";
  rate.y = {"throughput", Measure::number, "tokens/s", ChartScale::linear, true};
  step.name = "latency";
  step.title = "Time of a decode step by batch size";
  step.y = {"step", Measure::seconds, {}, ChartScale::linear, true};
  // Both charts mark the batch of the scenario, so they can be read together.
  rate.marks = step.marks = {{static_cast<double>(own), "this scenario"}};
  rate.series = {std::move(rates)};
  step.series = {std::move(steps)};
  section.blocks = {std::move(rate), std::move(step), std::move(table)};
  return section;
}

}  // namespace

Page inference_page(const InferenceForecast& f, std::string command) {
  const World& world = f.world;
  Page page = empty_page(world, std::move(command));
  const InferenceSpec& spec = world.scenario().workload.inference;
  const InferenceStep step = inference_of(world);
  const bool prompts = spec.phase == InferencePhase::prefill;
  const bool reduces = spec.phase == InferencePhase::all_reduce;
  const std::string what = reduces ? "an all-reduce" : prompts ? "a prefill pass" : "a decode step";
  page.context = fmt::format("{}, {}, batch {} per replica; {}", step.model.name,
                             spec.phase == InferencePhase::both ? "prefill and decode" : name_of(spec.phase),
                             step.batch, gpus_text(world, f.gpus));
  page.answer =
      fmt::format("{} on {} GPUs: {}{}; {} takes {}.", step.model.name, number_text(static_cast<double>(f.gpus)),
                  rate_text(f.tokens_per_second), prompts ? " of prompts" : "", what, seconds_text(f.step.time));
  // An all-reduce alone has no tokens.
  if (reduces)
    page.answer = fmt::format("An all-reduce of {} over {} GPUs takes {}.", to_text(f.message), step.layout.tensor,
                              seconds_text(f.step.time));
  // What the scenario describes, not the comparison.
  const Serving* serving = f.serving();
  if (serving)
    page.answer += fmt::format(" Time to first token {}, time per output token {}.",
                               seconds_text(serving->first_token.mean), seconds_text(serving->inter_token.mean));
  page.answer +=
      fmt::format(" 90 % interval: within a factor of {:.2f}{}.", f.factors.step,
                  serving ? fmt::format(" ({:.2f} for the time to first token)", f.factors.wait) : std::string());
  const std::string one = reduces ? "all-reduce" : prompts ? "prefill pass" : "decode step";
  if (!reduces)
    page.figures.push_back({"throughput", rate_text(f.tokens_per_second),
                            fmt::format("{} per GPU", rate_text(f.tokens_per_second / static_cast<double>(f.gpus)))});
  page.figures.push_back({one, seconds_text(f.step.time),
                          f.samples > 1 ? fmt::format("p5 {}, p95 {} of {} samples", seconds_text(f.step_p5),
                                                      seconds_text(f.step_p95), f.samples)
                                        : std::string()});
  if (f.prefill > Seconds{}) page.figures.push_back({"prefill of one prompt", seconds_text(f.prefill), {}});
  page.figures.push_back({"memory of a GPU", value_text(f.memory.share(f.capacity), Measure::percent),
                          fmt::format("of {}", value_text(fractional(f.capacity), Measure::bytes))});
  page.figures.push_back({"GPUs", number_text(static_cast<double>(f.gpus)), {}});
  page.fingerprint = fmt::format("{:016x}", f.fingerprint);
  if (f.shared) page.sections.push_back({"requests", "Latency and throughput of requests", {serving_table(f)}});
  page.sections.push_back({"breakdown", "Where the time goes", {breakdown_chart(f, what)}});
  if (f.batches.size() > 1) page.sections.push_back(batches_section(world, f));
  if (!f.step.collectives.empty())
    page.sections.push_back({"network", "Communication", {collective_page_table(f.step.program, f.step.collectives)}});
  page.sections.push_back({"memory", "Memory", {memory_chart({f.memory}, f.capacity)}});
  if (f.samples > 1)
    page.sections.push_back(samples_section(f.sample_times, reduces   ? "An all-reduce"
                                                            : prompts ? "A prefill pass"
                                                                      : "A decode step"));
  return page;
}

}  // namespace fabricast
