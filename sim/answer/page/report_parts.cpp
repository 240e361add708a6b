// What the pages of collectives, training and inference have in common: title, warnings, distribution over samples,
// collectives, memory (report_parts.hpp).
#include "report_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../step/parts.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/report/samples.hpp"
#include "fabricast/report/validated.hpp"

namespace fabricast {

// The effective scenario is part of each page, so that a page found years later can be run again.
Page empty_page(const World& world, std::string command) {
  Page page;
  page.title = world.scenario().name.empty() ? std::string("Forecast") : world.scenario().name;
  page.command = std::move(command);
  page.scenario = to_yaml(world.scenario());
  page.version = version_text();
  for (const Diagnostic& d : world.warnings()) page.warnings.push_back(d.message);
  for (std::string& sentence : not_validated(world.scenario()))
    page.warnings.push_back("not validated: " + std::move(sentence));
  return page;
}

FabricDrawing scenario_drawing(const World& world) {
  FabricDrawing drawing = draw_fabric(*world.fabric());
  drawing.name = "fabric";
  drawing.title = fmt::format("{} fabric of {} nodes", topologies()[world.scenario().fabric.kind].name,
                              number_text(world.fabric()->nodes()));
  return drawing;
}

TableCell with_factor(double value, double factor) {
  return factor > 1 ? TableCell::of(value, value / factor, value * factor) : TableCell::of(value);
}

// The text states what the distribution is not: part of the interval.
PageSection samples_section(const std::vector<Seconds>& times, const std::string& what) {
  const RankedSamples ranked(times);
  const auto text = [&](double part) { return seconds_text(times[ranked.at(part)]); };
  PageSection section{"samples", "Run-to-run variation", {}};
  constexpr double same = 1.001;
  const bool varies = times[ranked.at(1)] > times[ranked.at(0)] * same;
  // Of a few samples, p95 is one of the last, and says nothing of its own.
  const std::string p95 = times.size() >= least_for_twentieth ? fmt::format("p95 {}, ", text(0.95)) : std::string();
  section.blocks.emplace_back(Prose{
      varies
          ? fmt::format("{} over {} samples: best {}, median {}, {}worst {}. A sample is one launch of the job: "
                        "one seed of the ECMP hash and of the choice of slow hosts. This variation is a property of "
                        "the cluster, not an error of the forecast. It is not part of the 90 % interval.",
                        what, times.size(), text(0), text(0.5), p95, text(1))
          : fmt::format(
                "{} takes {} in each of {} samples, within 0.1 %: the ECMP hash and the choice of slow hosts make no "
                "difference.",
                what, text(0.5), times.size())});
  std::vector<double> seconds;
  for (const Seconds t : times) seconds.push_back(t.value);
  LineChart chart = cumulative_chart("samples", "Cumulative distribution of the time over samples",
                                     {"time", Measure::seconds, {}, ChartScale::linear, false}, seconds);
  section.blocks.emplace_back(std::move(chart));
  return section;
}

// Collectives that differ in their stage only share a row, as in text (step/parts.hpp).
PageTable collective_page_table(const Program& program, const std::vector<CollectiveUse>& collectives) {
  PageTable table;
  table.name = "collectives";
  table.title = "Collectives";
  table.note =
      "Seen by a rank of the slowest stage. Shared: the worst slowdown caused by the step's other collectives, "
      "relative to running alone.";
  table.columns = {{"part", Measure::text, {}, "the kind of parallelism that needs it"},
                   {"operation", Measure::text, {}, {}},
                   {"bytes", Measure::bytes, {}, "as nccl-tests defines the size"},
                   {"calls", Measure::number, "per step", {}},
                   {"alone", Measure::number, "us", "one call, with the network to itself"},
                   {"busbw", Measure::number, "GB/s", "bus bandwidth of the call alone"},
                   {"shared", Measure::number, "times", {}},
                   {"algorithm", Measure::text, {}, {}},
                   {"bound by", Measure::text, {}, {}}};
  for (const CollectiveLine& line : collective_lines(program, collectives)) {
    const CollectiveUse& use = *line.use;
    table.rows.push_back(
        {{TableCell::of(std::string(name_of(use.kind.part))), TableCell::of(std::string(name_of(use.kind.op))),
          TableCell::of(static_cast<double>(use.kind.bytes)), TableCell::of(line.calls),
          TableCell::of(microseconds(use.alone.makespan)), TableCell::of(gigabytes_per_second(line.bus_bandwidth)),
          TableCell::of(line.slowest), TableCell::of(fmt::format("{}/{}", use.alone.algorithm, use.alone.protocol)),
          TableCell::of(use.alone.bottleneck)},
         false,
         false,
         {}});
  }
  return table;
}

// A chart with more bars than fit on a screen shows evenly spaced ones.
std::vector<std::size_t> some_of(std::size_t count, std::size_t most) {
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < std::min(count, most); ++i)
    some.push_back(count <= most ? i : i * (count - 1) / (most - 1));
  return some;
}

BarChart memory_chart(const std::vector<MemoryUse>& stages, Bytes capacity) {
  BarChart chart;
  chart.name = "memory";
  chart.title = "Memory of a GPU";
  chart.value = {"memory of a GPU", Measure::number, "GiB", ChartScale::linear, true};
  chart.marks = {
      {gibibytes(capacity), fmt::format("capacity {}", value_text(gibibytes(capacity), Measure::number, "GiB"))}};
  const std::vector<std::size_t> shown = some_of(stages.size());
  for (const std::size_t s : shown)
    chart.bars.push_back(stages.size() == 1 ? "each GPU" : fmt::format("stage {}", stages[s].stage));
  const auto names = stages.front().by_part();
  for (std::size_t p = 0; p < names.size(); ++p) {
    BarPart part{std::string(names[p].first), {}};
    for (const std::size_t s : shown) part.values.push_back(stages[s].by_part()[p].second / gib);
    // Parts that no stage has would only fill the legend.
    if (std::any_of(part.values.begin(), part.values.end(), [](double v) { return v > 0; }))
      chart.parts.push_back(std::move(part));
  }
  return chart;
}

}  // namespace fabricast
