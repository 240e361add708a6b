// `check`: compares measured logs with the forecast for a healthy cluster.
#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "fabricast/calibrate/check.hpp"
#include "fabricast/calibrate/measured.hpp"
#include "fabricast/core/quantity.hpp"
#include "measured_site.hpp"
#include "named_log.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

/// A measurement from the command line instead of a log: `--size 8GiB --busbw 210`, or `--time 41ms`.
MeasuredSeries bare_number(const Options& options, const World& world) {
  if (!options.has("size")) throw UserError("fabricast check: needs LOG or --size", "e.g. --size 8GiB --busbw 210");
  if (options.has("busbw") == options.has("time"))
    throw UserError("fabricast check: --size needs either --busbw or --time", "e.g. --size 8GiB --busbw 210");
  const std::int64_t bytes = chosen_size(options, world);
  const std::string value = options.has("time") ? options.text("time") : options.text("busbw");
  const CollectiveOp op = world.scenario().workload.collective;
  double seconds = 0;
  if (options.has("time")) {
    const auto time = parse_seconds(value);
    if (!time) throw UserError(fmt::format("--time {}", time.error), time.hint);
    seconds = time.value.value;
  } else {
    const auto rate = parse_number(value);
    if (!rate) throw UserError(fmt::format("--busbw {}", rate.error), "write GB/s as nccl-tests prints them, e.g. 210");
    constexpr double giga = 1e9;
    seconds = static_cast<double>(bytes) * bus_factor(op, world.planner().comm.ranks()) / (rate.value * giga);
  }
  if (!(seconds > 0 && seconds < 1e9)) throw UserError(fmt::format("'{}' must be above 0", value));
  MeasuredSeries series{world.scenario(), {Seconds{seconds}}, "the command line", {}, {}};
  series.scenario.workload.sizes = {Bytes{bytes}};
  return series;
}

std::map<Cause, double> evidence_of(const std::vector<NamedLog>& logs, const World& world) {
  std::map<Cause, double> weights;
  for (const NamedLog& named : logs)
    for (const auto& [cause, weight] : evidence(named.log, world)) {
      // Logs of one run repeat the same evidence, so only the strongest counts for each cause.
      double& known = weights.try_emplace(cause, 1).first->second;
      if (std::abs(std::log(weight)) > std::abs(std::log(known))) known = weight;
    }
  return weights;
}

}  // namespace

int check_verb(const std::vector<std::string>& arguments) {
  Options options("check",
                  "Compares measured times with the forecast for a healthy cluster. Reports likely causes and exits "
                  "with 1 if times are too slow or results are wrong.",
                  {"[LOG...]"});
  options.example("fabricast check today.log --scenario cluster.yaml");
  options.example("fabricast check today.log --scenario cluster.yaml --against healthy.log");
  options.example("fabricast check --scenario cluster.yaml --size 8GiB --busbw 210");
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("scenario", takes("FILE")->required(), "scenario of the cluster as it should be (YAML); required")(
      "against", takes_many("LOG"), "log of the same cluster when it was healthy; may be repeated")(
      "size", takes("SIZE"), "without a log: the measured size, e.g. 8GiB")("busbw", takes("N"),
                                                                            "without a log: its bus bandwidth in GB/s")(
      "time", takes("TIME"), "without a log: its time, e.g. 41ms")("json", takes("FILE"),
                                                                   "write JSON to FILE; - prints it instead of text")(
      "threads", takes("N"), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json");
  const RunOptions how = run_options(options);
  const std::vector<NamedLog> logs = read_logs(options.list("LOG..."));
  const auto world = load_world(options, Beside::left_out, "scenario");
  if (world.scenario().workload.kind != WorkloadKind::collective)
    throw UserError("fabricast check: the workload of the scenario is not a collective",
                    "e.g. --set 'workload={collective: all_reduce}'");
  // A log of another cluster, NCCL or number of ranks would look like a fault. It is refused with what differs.
  if (const auto found = contradictions_of(logs, world); !found.empty()) {
    if (!json.empty()) emit(json, contradictions_json(world.scenario(), found));
    if (json != "-") emit("-", contradictions_text(world.scenario(), found));
    return 1;
  }
  CheckReport report = placed(world.scenario(), [&] {
    std::vector<MeasuredSeries> measured = series_of_logs(logs, world);
    if (measured.empty()) measured.push_back(bare_number(options, world));
    // `--against` is a log of the same cluster when it was healthy. It makes the interval narrow, as any measurement of
    // the site does.
    const MeasuredSite site = site_of(options, world, {}, options.list("against"));
    return check(measured, site, evidence_of(logs, world), how);
  });
  report.wrong = wrong_rows_of(logs);
  if (!json.empty()) emit(json, check_json(world.scenario(), report));
  if (json != "-") emit("-", check_text(world.scenario(), report));
  return report.healthy() ? 0 : 1;
}

}  // namespace fabricast
