// The page of a collective over sizes.
// Sections from the answer to its details: bandwidth and time by size, the table, where the time goes, variation over
// samples, and the load of the fabric. What a scenario does not have (intervals, samples, a fabric) leaves no empty
// section.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "fabricast/core/quantity.hpp"
#include "fabricast/engine/link_load.hpp"
#include "fabricast/report/unstated.hpp"
#include "fabricast/report/versions.hpp"
#include "report_parts.hpp"

namespace fabricast {

namespace {

std::string with_90(const std::string& range) { return fmt::format("90 % interval {}", range); }
std::string rate_text(BytesPerSecond rate) {
  return value_text(gigabytes_per_second(rate), Measure::number, "GB/s", 3);
}
std::string rate_interval(BytesPerSecond rate, double factor, std::string_view unit) {
  return with_90(
      range_text(gigabytes_per_second(rate / factor), gigabytes_per_second(rate * factor), Measure::number, unit));
}
std::string size_text(std::int64_t bytes) { return value_text(static_cast<double>(bytes), Measure::bytes); }

/// One line: the operation, the GPUs, the network, and NCCL.
std::string context_text(const World& world, const Forecast& forecast) {
  const Communicator& comm = world.planner().comm;
  std::string text = fmt::format(
      "{} on {} GPUs = {} node{} x {} {}", name_of(forecast.op), number_text(static_cast<double>(forecast.ranks)),
      number_text(static_cast<double>(comm.nodes())), comm.nodes() == 1 ? "" : "s", comm.gpus(), comm.node.gpu.name);
  if (comm.nodes() > 1)
    text += fmt::format(", {} x {} {} per node, {} fabric, {} routing", comm.node.nics,
                        to_text(comm.node.nic_line_rate), name_of(comm.node.spec.nics.link),
                        topologies()[world.scenario().fabric.kind].name, world.setup().policy->name);
  return text + fmt::format("; NCCL {}, timed as by {}", to_text(comm.version),
                            name_of(world.scenario().workload.harness.tool));
}

// Links with equal load are counted, since on a symmetric fabric the named one stands for hundreds.
std::string bound_text(const ForecastRow& row) {
  const Bottleneck& b = row.result.bottleneck;
  std::string text = b.name;
  if (b.capacity.value > 0) {
    text += fmt::format(" ({}", rate_text(b.capacity));
    if (b.alike > 1) text += fmt::format(", one of {} links with this load", number_text(b.alike));
    text += ")";
  }
  return text;
}

// The largest size is what bandwidth is bought for; small sizes are in the table.
std::string answer_text(const Forecast& forecast) {
  const ForecastRow& row = forecast.rows.back();
  const BytesPerSecond bus = forecast.bus_bandwidth(row);
  std::string text = fmt::format("{} of {}: {} bus bandwidth{}", name_of(forecast.op), size_text(row.bytes),
                                 rate_text(bus), forecast.samples > 1 ? " in the median launch" : "");
  if (row.factor > 1) text += fmt::format(" ({})", rate_interval(bus, row.factor, {}));
  text += fmt::format(", bound by {}.", bound_text(row));
  // Run-to-run variation is mentioned only where it matters. A frequency of one in twenty needs more samples than a
  // maximum.
  if (forecast.samples > 1 && row.time_p95 > 1.02 * row.time_p5)
    text += static_cast<std::size_t>(forecast.samples) >= least_for_twentieth
                ? fmt::format(" One launch in twenty gets {} or less.", rate_text(bus * (row.time / row.time_p95)))
                : fmt::format(" The slowest of {} samples gets {}.", forecast.samples,
                              rate_text(bus * (row.time / row.time_worst)));
  return text;
}

// The smallest size shows latency, the largest bandwidth.
std::vector<KeyFigure> figures_of(const Forecast& forecast) {
  const auto time = [](const ForecastRow& row) {
    KeyFigure f{fmt::format("time of {}", size_text(row.bytes)), seconds_text(row.time), {}};
    if (row.factor > 1) f.range = with_90(range_text(row.time / row.factor, row.time * row.factor));
    return f;
  };
  const ForecastRow& last = forecast.rows.back();
  const BytesPerSecond bus = forecast.bus_bandwidth(last);
  KeyFigure rate{fmt::format("bus bandwidth at {}", size_text(last.bytes)), rate_text(bus), {}};
  if (last.factor > 1) rate.range = rate_interval(bus, last.factor, "GB/s");
  std::vector<KeyFigure> figures = {rate, time(last)};
  if (forecast.rows.size() > 1) figures.push_back(time(forecast.rows.front()));
  figures.push_back(
      {"GPUs", number_text(static_cast<double>(forecast.ranks)),
       forecast.samples > 1 ? fmt::format("{} samples of the ECMP hash", forecast.samples) : std::string()});
  return figures;
}

bool with_intervals(const Forecast& forecast) {
  return std::any_of(forecast.rows.begin(), forecast.rows.end(), [](const ForecastRow& r) { return r.factor > 1; });
}

/// A chart over sizes. \param value_of  (row, time) -> y, monotonic in the time
template <class ValueOf>
LineChart size_chart(const Forecast& forecast, ValueOf value_of) {
  LineChart chart;
  chart.x = {"message size", Measure::bytes, {}, ChartScale::logarithmic, false};
  ChartSeries series;
  series.name = "median";
  ChartBand interval{forecast.samples > 1 ? "90 % interval of the median" : "90 % interval", {}, {}};
  ChartBand samples{{}, {}, {}};
  // Of fewer than 20 samples, p5 is the best and p95 the worst.
  samples.name = forecast.samples < 20 ? "best to worst sample" : "p5 to p95 of samples";
  for (const ForecastRow& row : forecast.rows) {
    chart.at.push_back(static_cast<double>(row.bytes));
    series.y.push_back(value_of(row, row.time));
    // Bandwidth falls as time rises, so the ends of a band swap.
    const auto add = [&](ChartBand& band, Seconds a, Seconds b) {
      band.low.push_back(std::min(value_of(row, a), value_of(row, b)));
      band.high.push_back(std::max(value_of(row, a), value_of(row, b)));
    };
    add(interval, row.time / row.factor, row.time * row.factor);
    add(samples, row.time_p5, row.time_p95);
  }
  if (with_intervals(forecast)) series.bands.push_back(std::move(interval));
  if (forecast.samples > 1) series.bands.push_back(std::move(samples));
  chart.series = {std::move(series)};
  return chart;
}

PageSection sizes_section(const Forecast& forecast) {
  PageSection section{"sizes", "Bandwidth and time by size", {}};
  // Bandwidth of another time: it scales with the inverse of the time.
  LineChart bus = size_chart(forecast, [&](const ForecastRow& row, Seconds time) {
    return gigabytes_per_second(forecast.bus_bandwidth(row) * (row.time / time));
  });
  bus.name = "busbw";
  bus.title = "Bus bandwidth by message size";
  bus.note = "As nccl-tests defines it: the link rate that an ideal algorithm would need for this time.";
  bus.y = {"bus bandwidth", Measure::number, "GB/s", ChartScale::linear, true};
  LineChart time = size_chart(forecast, [](const ForecastRow&, Seconds t) { return t.value; });
  time.name = "time";
  time.title = "Time by message size";
  time.y = {"time", Measure::seconds, {}, ChartScale::logarithmic, false};
  section.blocks.emplace_back(std::move(bus));
  section.blocks.emplace_back(std::move(time));
  return section;
}

// Shares, not seconds: times of a sweep differ by orders of magnitude. The time of a call is in the label.
BarChart parts_chart(const Forecast& forecast) {
  BarChart chart;
  chart.name = "parts";
  chart.title = "Where the time of a call goes";
  chart.note =
      "Launch: start of the kernel. Latency: hops and slices in sequence. Fill: until the pipeline is full, and "
      "waiting for links that are down. Transfer: the data at the rate of the slowest channel.";
  chart.value = {"fraction of a call", Measure::percent, {}, ChartScale::linear, true};
  chart.parts = {{"launch", {}}, {"latency", {}}, {"fill", {}}, {"transfer", {}}};
  for (const std::size_t i : some_of(forecast.rows.size())) {
    const ForecastRow& row = forecast.rows[i];
    const CollectiveResult& r = row.result;
    const Seconds whole = r.launch + r.makespan;
    chart.bars.push_back(fmt::format("{}, {}", size_text(row.bytes), seconds_text(whole)));
    std::size_t p = 0;
    for (const Seconds part : {r.launch, r.latency, r.fill, r.transfer})
      chart.parts[p++].values.push_back(whole > Seconds{} ? part / whole : 0);
  }
  return chart;
}

PageTable sizes_table(const World& world, const Forecast& forecast) {
  const bool samples = forecast.samples > 1, versions = !forecast.versions.empty();
  PageTable table;
  table.name = "rows";
  table.filter = forecast.rows.size() > 8;
  if (with_intervals(forecast))
    table.note = fmt::format("Small numbers are the ends of the 90 % interval{}.",
                             forecast.samples > 1 ? " of the median launch" : "");
  if (const std::string assumed = assumed_text(forecast); !assumed.empty())
    table.note += fmt::format("{}Not stated, so assumed: {}.{}", table.note.empty() ? "" : " ", assumed,
                              with_intervals(forecast) ? " The interval covers other values." : "");
  table.columns = {{"size", Measure::bytes, {}, "as nccl-tests defines it"},
                   {"time", Measure::number, "us", samples ? "median over samples" : ""},
                   {"algbw", Measure::number, "GB/s", "size / time"},
                   {"busbw", Measure::number, "GB/s", {}}};
  if (samples)
    for (const char* name : {"p5", "p95", "worst"})
      table.columns.push_back({name, Measure::number, "us", "of the time over samples"});
  if (versions)
    for (const char* name : {"low", "high"})
      table.columns.push_back(
          {name, Measure::number, "us", fmt::format("over NCCL {}", world.scenario().nccl.version)});
  table.columns.push_back({"algorithm", Measure::text, {}, "the algorithm that runs"});
  table.columns.push_back({"protocol", Measure::text, {}, {}});
  table.columns.push_back({"channels", Measure::number, {}, {}});
  table.columns.push_back({"bound by", Measure::text, {}, "bottleneck of the slowest channel"});
  for (const ForecastRow& row : forecast.rows) {
    TableRow out;
    const auto add = [&](TableCell cell) { out.cells.push_back(std::move(cell)); };
    add(TableCell::of(static_cast<double>(row.bytes)));
    add(with_factor(microseconds(row.time), row.factor));
    add(TableCell::of(gigabytes_per_second(row.algorithm_bandwidth())));
    add(with_factor(gigabytes_per_second(forecast.bus_bandwidth(row)), row.factor));
    if (samples)
      for (const Seconds t : {row.time_p5, row.time_p95, row.time_worst}) add(TableCell::of(microseconds(t)));
    if (versions)
      for (const Seconds t : {fastest_version(row).time, slowest_version(row).time})
        add(TableCell::of(microseconds(t)));
    add(TableCell::of(std::string(name_of(row.algorithm))));
    add(TableCell::of(std::string(name_of(row.protocol))));
    add(TableCell::of(static_cast<double>(row.channels)));
    std::string bound = row.result.bottleneck.name;
    if (row.nccl)
      bound += fmt::format(" (NCCL's own choice: {}/{})", name_of(row.nccl->algorithm), name_of(row.nccl->protocol));
    if (!row.result.affected_by.empty())
      bound += fmt::format(" (affected by: {})", fmt::join(row.result.affected_by, ", "));
    add(TableCell::of(std::move(bound)));
    table.rows.push_back(std::move(out));
  }
  return table;
}

// Each direction by itself: incast loads one of them only.
PageTable tier_table(const FabricDrawing& drawing) {
  PageTable table;
  table.name = "tiers";
  table.title = "Load of the links between tiers";
  table.columns = {{"links", Measure::text, {}, {}},
                   {"number", Measure::number, {}, {}},
                   {"rate of one", Measure::number, "GB/s", "payload in one direction, of the slowest link"},
                   {"mean load", Measure::percent, {}, {}},
                   {"p95", Measure::percent, {}, "5 % of links have more load"},
                   {"maximum", Measure::percent, {}, {}},
                   {"most loaded link", Measure::text, {}, "the first of several equal ones"}};
  for (const TierLoad& t : drawing.tiers)
    table.rows.push_back({{TableCell::of(t.name), TableCell::of(static_cast<double>(t.links)),
                           TableCell::of(gigabytes_per_second(t.rate)), TableCell::of(t.mean), TableCell::of(t.p95),
                           TableCell::of(t.most), TableCell::of(t.most > 0 ? t.fullest : "none")},
                          false,
                          false,
                          {}});
  return table;
}

// Of the median sample of the largest size. Loads are counted again from the plan, since forecasts keep only the
// bottleneck.
PageSection load_section(const World& world, const ForecastRow& row) {
  const LinkLoads loads = link_loads(world.setup(), row.plan, world.samples().first_seed + row.median_sample);
  FabricDrawing drawing = draw_fabric(*world.fabric(), loads.load);
  drawing.name = "load";
  drawing.title = fmt::format("Load of the fabric's links during {} of {}", name_of(row.plan.op), size_text(row.bytes));
  drawing.note =
      "Nodes below, switches above. If there are many, neighbours share a box. A line represents all cables between "
      "two boxes and has the colour of the most loaded link. Load is the mean over the call: at 100 % a link is busy "
      "from beginning to end.";
  PageSection section{"load", "Load of the fabric", {}};
  PageTable tiers = tier_table(drawing);
  section.blocks.emplace_back(std::move(drawing));
  section.blocks.emplace_back(std::move(tiers));
  return section;
}

}  // namespace

Page collective_page(const Forecast& forecast, std::string command) {
  const World& world = forecast.world;
  Page page = empty_page(world, std::move(command));
  const ForecastRow& last = forecast.rows.back();
  page.context = context_text(world, forecast);
  page.answer = answer_text(forecast);
  page.figures = figures_of(forecast);
  if (!last.result.affected_by.empty())
    page.warnings.push_back(
        fmt::format("affected by faults at {}: {}", size_text(last.bytes), fmt::join(last.result.affected_by, ", ")));
  page.fingerprint = fmt::format("{:016x}", forecast.fingerprint);
  page.sections.push_back(sizes_section(forecast));
  page.sections.push_back(
      {"table", forecast.rows.size() > 1 ? "All sizes" : "Details", {sizes_table(world, forecast)}});
  // Other engines do not split the time of a call.
  const bool flow = world.scenario().network.engine == EngineKind::flow;
  if (flow) page.sections.push_back({"parts", "Where the time goes", {parts_chart(forecast)}});
  if (forecast.samples > 1)
    page.sections.push_back(
        samples_section(last.sample_times, fmt::format("{} of {}", name_of(forecast.op), size_text(last.bytes))));
  if (flow && world.fabric() && world.planner().comm.nodes() > 1) page.sections.push_back(load_section(world, last));
  return page;
}

}  // namespace fabricast
