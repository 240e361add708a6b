// `check`: measured logs against the forecast of what the cluster should be.
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

namespace po = boost::program_options;

namespace {

/// A number without a log: `--size 8GiB --busbw 210`, or `--time 41ms`.
MeasuredSeries bare_number(const Options& options, const World& world) {
  if (!options.has("size")) throw UserError("fabricast check: neither LOG nor --size", "--size 8GiB --busbw 210");
  if (options.has("busbw") == options.has("time"))
    throw UserError("fabricast check: --size takes one of --busbw and --time", "--size 8GiB --busbw 210");
  const std::int64_t bytes = chosen_size(options, world);
  const std::string value = options.has("time") ? options.text("time") : options.text("busbw");
  const CollectiveOp op = world.scenario.workload.collective;
  double seconds = 0;
  if (options.has("time")) {
    const auto time = parse_seconds(value);
    if (!time) throw UserError(fmt::format("--time {}", time.error), time.hint);
    seconds = time.value.value;
  } else {
    const auto rate = parse_number(value);
    if (!rate) throw UserError(fmt::format("--busbw {}", rate.error), "GB/s as nccl-tests prints it, e.g. 210");
    constexpr double giga = 1e9;
    seconds = static_cast<double>(bytes) * bus_factor(op, world.planner.comm.ranks()) / (rate.value * giga);
  }
  if (!(seconds > 0 && seconds < 1e9)) throw UserError(fmt::format("'{}' must be above 0", value));
  MeasuredSeries series{world.scenario, {seconds}, "the command line", {}, {}};
  series.scenario.workload.sizes = {Bytes{bytes}};
  return series;
}

std::map<Cause, double> evidence_of(const std::vector<NamedLog>& logs, const World& world) {
  std::map<Cause, double> weights;
  for (const NamedLog& named : logs)
    for (const auto& [cause, weight] : evidence(named.log, world)) {
      // What one log states is not stated again by each of the others.
      double& known = weights.try_emplace(cause, 1).first->second;
      if (std::abs(std::log(weight)) > std::abs(std::log(known))) known = weight;
    }
  return weights;
}

}  // namespace

int check_verb(const std::vector<std::string>& arguments) {
  Options options("check", "Says whether measured times are what the hardware should give and, if not, why.",
                  {"[LOG...]"});
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("scenario", po::value<std::string>()->required(), "what the cluster should be (YAML)")(
      "against", po::value<std::vector<std::string>>()->composing(),
      "log of the same cluster when it was as it should be; may be repeated")(
      "size", po::value<std::string>(), "without a log: of what was measured, e.g. 8GiB")(
      "busbw", po::value<std::string>(), "without a log: its bus bandwidth in GB/s")(
      "time", po::value<std::string>(), "without a log: its time, e.g. 41ms")(
      "json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "threads", po::value<std::string>(), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json");
  const RunOptions how = run_options(options);
  const std::vector<NamedLog> logs = read_logs(options.list("LOG..."));
  const auto world = load_world(options, Beside::left_out, "scenario");
  if (world->scenario.workload.kind != WorkloadKind::collective)
    throw UserError("fabricast check: the workload of the scenario is no collective",
                    "--set 'workload={collective: all_reduce}'");
  if (const auto found = contradictions_of(logs, *world); !found.empty()) {
    if (!json.empty()) emit(json, contradictions_json(world->scenario, found));
    if (json != "-") emit("-", contradictions_text(world->scenario, found));
    return 1;
  }
  CheckReport report = placed(world->scenario, [&] {
    std::vector<MeasuredSeries> measured = series_of_logs(logs, *world);
    if (measured.empty()) measured.push_back(bare_number(options, *world));
    const MeasuredSite site = site_of(options, *world, {}, options.list("against"));
    return check(measured, site, evidence_of(logs, *world), how);
  });
  report.wrong = wrong_rows_of(logs);
  if (!json.empty()) emit(json, check_json(world->scenario, report));
  if (json != "-") emit("-", check_text(world->scenario, report));
  return report.healthy() ? 0 : 1;
}

}  // namespace fabricast
