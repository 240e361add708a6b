// Makes series of measured rows from logs, scenarios, cases and profiles.
//
// `run`, `plan`, `check` and `gate` all condition on such series. A series is one sweep with the scenario that it ran
// on: the user's scenario, changed where the log states something that the scenario leaves open. Contradictions between
// the two are found before (check/contradictions.cpp).
#include "fabricast/calibrate/measured.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "../../models/hardware/json_text.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

namespace {

/// The collective of a table; the scenario's for a bare list of sizes and times; empty if it is no collective.
std::optional<CollectiveOp> collective_of(const LogTable& table, const World& world) {
  if (!table.live && table.tool != "nccl_tests" && table.tool != "csv") return std::nullopt;
  return table.operation.empty() ? world.scenario().workload.collective : enum_from<CollectiveOp>(table.operation);
}

/// Names in NCCL_IB_HCA, such as `=mlx5_0:1,mlx5_3`; none for a list of exclusions.
std::vector<std::string> picked_nics(const NcclFacts& nccl) {
  const auto it = nccl.env.find("NCCL_IB_HCA");
  if (it == nccl.env.end() || it->second.starts_with('^')) return {};
  std::vector<std::string> names;
  std::string name;
  for (const char c : it->second + ",") {
    if (c == ',' && !name.empty()) names.push_back(std::exchange(name, {}));
    if (c != ',' && c != '=') name += c;
  }
  return names;
}

/// Whether a table of a job ran on whole nodes of the scenario, and no more than it has.
bool fits(const LogTable& table, const World& world) {
  return table.whole_nodes(world.scenario().node.spec.gpus) && table.ranks <= world.planner().comm.ranks();
}

/// The `--set` words that make the scenario run on as many ranks as a table.
std::vector<std::string> set_ranks(const LogTable& table, const std::string& path, const World& world) {
  const std::int64_t ranks = table.ranks, gpus = world.scenario().node.spec.gpus;
  if (ranks <= 0 || ranks == world.planner().comm.ranks()) return {};
  // A run on fewer nodes is informative about more. Part of a node has other rings and NICs and is not.
  if (ranks % gpus == 0) return {fmt::format("cluster.nodes={}", ranks / gpus)};
  throw UserError({Diagnostic{
      Diagnostic::Severity::error,
      {path, table.line, 1, 1},
      {},
      fmt::format("{} ran on {} ranks, which is not a multiple of {} GPUs per node", table.operation, ranks, gpus),
      "set node.gpus to the number of ranks per node"}});
}

/// The `--set` words for settings that the log states and the scenario leaves open.
std::vector<std::string> set_harness(const LogTable& table, const Imported& log, const World& world) {
  std::vector<std::string> set;
  if (table.ranks_per_process > 1) {
    set.push_back(fmt::format("workload.harness.ranks_per_process={}", table.ranks_per_process));
    if (table.threads > 1) set.push_back(fmt::format("workload.harness.threads={}", table.threads));
  }
  const std::string& version = table.nccl_version.empty() ? log.nccl.version : table.nccl_version;
  if (!version.empty() && !world.scenario().nccl.version_given) set.push_back("nccl.version=\"" + version + "\"");
  if (table.iterations > 0) set.push_back(fmt::format("workload.harness.iterations={}", table.iterations));
  return set;
}

MeasuredSeries series_with(const ScenarioChanges& changes, std::vector<std::string> set, CollectiveOp op,
                           const std::map<std::int64_t, Seconds>& times, std::string from) {
  set.push_back(fmt::format("workload.collective={}", name_of(op)));
  MeasuredSeries series{changes.with(set), {}, std::move(from), {}, {}};
  std::vector<std::int64_t> sizes;
  for (const auto& [bytes, time] : times) {
    sizes.push_back(bytes);
    series.times.push_back(time);
  }
  set_sizes(series.scenario, sizes);
  return series;
}

}  // namespace

std::vector<MeasuredSeries> series_of_log(const Imported& log, const std::string& path, const World& world) {
  const ScenarioChanges changes(world.scenario());
  std::vector<MeasuredSeries> list;
  int other_shapes = 0;
  for (const LogTable& table : log.tables) {
    const auto op = collective_of(table, world);
    if (!op) continue;
    if (table.live && !fits(table, world)) {
      ++other_shapes;
      continue;
    }
    std::vector<std::string> set = set_ranks(table, path, world);
    for (std::string& word : set_harness(table, log, world)) set.push_back(std::move(word));
    std::map<std::int64_t, Seconds> times;
    for (const LogRow& row : table.rows) {
      // Sizes of 0 bytes have no forecast to compare with.
      if (row.bytes <= 0 || !(row.time_us > 0) || !row.one_size()) continue;
      const Seconds time{row.time_us * 1e-6};
      const auto [it, fresh] = times.try_emplace(row.bytes, time);
      // The fastest of repeats: interference only adds time.
      if (!fresh) it->second = std::min(it->second, time);
    }
    if (times.empty()) continue;
    list.push_back(series_with(changes, std::move(set), *op, times, path));
    list.back().hosts = table.hosts;
    list.back().nics = picked_nics(log.nccl);
  }
  if (list.empty() && other_shapes > 0)
    throw UserError(
        fmt::format("no communicator of '{}' consists of whole nodes of the scenario, which have {} GPUs each", path,
                    world.scenario().node.spec.gpus),
        "`fabricast calibrate import` lists the communicators; set node.gpus and cluster.nodes to the values of one of "
        "them");
  if (list.empty())
    throw UserError(fmt::format("'{}' contains no measured collective", path),
                    "`fabricast calibrate import LOG` shows what can be read from it");
  return list;
}

std::vector<MeasuredSeries> series_of_scenario(const World& world) {
  std::vector<MeasuredSeries> list;
  // Most scenarios have none, and writing them down to change them takes as long as reading them.
  std::optional<ScenarioChanges> changes;
  for (std::size_t i = 0; i < world.scenario().measured.texts.size(); ++i) {
    const auto op = static_cast<CollectiveOp>(i);
    const std::int64_t ranks = world.planner().comm.ranks();
    std::map<std::int64_t, Seconds> times;
    for (const MeasuredValue& value : measured_values(world.scenario().measured, op)) {
      // busbw = bytes / time x factor, solved for the time.
      const Seconds at_rate = value.bytes / value.bus_bandwidth * bus_factor(op, ranks);
      times[value.bytes.value] = value.time > Seconds{} ? value.time : at_rate;
    }
    if (times.empty()) continue;
    if (!changes) changes.emplace(world.scenario());
    list.push_back(series_with(*changes, {}, op, times, fmt::format("measured.{}", name_of(op))));
  }
  return list;
}

std::vector<MeasuredSeries> series_of_cases(const std::vector<MeasuredCase>& cases, const World& world) {
  std::vector<MeasuredSeries> list;
  for (const MeasuredCase& c : cases) {
    const CaseRunner runner(c);
    Scenario scenario = runner.scenario();
    if (scenario.node.spec.gpu != world.scenario().node.spec.gpu)
      throw UserError(fmt::format("case {} was measured on {}, but the scenario has {}", c.id, scenario.node.spec.gpu,
                                  world.scenario().node.spec.gpu),
                      "rows of other GPUs do not apply to these");
    // The case states its own system, but parameters are those of the user's profile.
    scenario.hardware = world.scenario().hardware;
    MeasuredSeries series{std::move(scenario), {}, c.id, {}, {}};
    for (const MeasuredRow& row : c.rows) series.times.push_back({row.time_us * 1e-6});
    list.push_back(std::move(series));
  }
  return list;
}

std::vector<MeasuredCase> cases_in_profile(const std::string& text, const std::string& path) {
  const nlohmann::json profile = parse_json_text(text, path);
  if (!profile.is_object()) return {};
  return profile.contains("measured") ? cases_of(profile["measured"].dump(), path) : std::vector<MeasuredCase>();
}

bool holds_cases(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  // Cheap test before the file is parsed as a log.
  return first != std::string::npos && text[first] == '[' && text.find("\"gpus_per_node\"") != std::string::npos;
}

}  // namespace fabricast
