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
#include "fabricast/planner/nccl.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

namespace {

/// The collective of a table; the scenario's for a bare list of sizes and times; empty if it is no collective.
std::optional<CollectiveOp> collective_of(const LogTable& table, const World& world) {
  if (!table.live && table.tool != "nccl_tests" && table.tool != "csv") return std::nullopt;
  return table.operation.empty() ? world.scenario().workload.collective : enum_from<CollectiveOp>(table.operation);
}

/// What to state so that the figures of a table fit; empty if nothing does.
std::string fitting_words(const LogTable& table, std::int64_t ranks, const World& world) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < EnumNames<CollectiveOp>::names.size(); ++i) {
    const auto op = static_cast<CollectiveOp>(i);
    if (!table.operation.empty() && enum_from<CollectiveOp>(table.operation) != op) continue;
    const std::string own = op == world.scenario().workload.collective || !table.operation.empty()
                                ? std::string()
                                : fmt::format(" --set workload.collective={}", name_of(op));
    if (figures_fit(table, op, ranks)) {
      words.push_back(fmt::format("{} over {} ranks:{}", name_of(op), ranks, own));
      continue;
    }
    const std::int64_t fitting = table.ranks > 0 ? 0 : ranks_of_figures(table, op);
    const int gpus = world.scenario().node.spec.gpus;
    if (fitting == 0 || !figures_fit(table, op, fitting)) continue;
    const std::string nodes = fitting % gpus == 0 ? fmt::format(" --set cluster.nodes={}", fitting / gpus)
                                                  : std::string(" node.gpus and cluster.nodes of that run");
    words.push_back(fmt::format("{} over {} ranks:{}{}", name_of(op), fitting, own, nodes));
  }
  return fmt::format("{}", fmt::join(words, "; or "));
}

/// Refuses a table that leaves its operation or its ranks open, if its figures are not those of what is assumed: times
/// of another collective, or of another number of ranks, would be taken for those of the scenario.
void check_figures(const LogTable& table, CollectiveOp op, const std::string& path, const World& world) {
  // The importer has compared figures with what the log states itself.
  if (!table.operation.empty() && table.ranks > 0) return;
  const std::int64_t ranks = table.ranks > 0 ? table.ranks : world.planner().comm.ranks();
  if (figures_fit(table, op, ranks)) return;
  const std::string words = fitting_words(table, ranks, world);
  const std::string open = !table.operation.empty() ? "number of ranks"
                           : table.ranks > 0        ? "operation"
                                                    : "operation and number of ranks";
  throw UserError({Diagnostic{Diagnostic::Severity::error,
                              {path, table.line, 1, 1},
                              {},
                              fmt::format("the log does not state the {} of this table, and its figures ({}) are not "
                                          "those of {} over {} ranks",
                                          open, figures_text(table), name_of(op), ranks),
                              words.empty() ? "state those of the run: workload.collective, cluster.nodes, node.gpus"
                                            : "they are those of " + words}});
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

/// NCCL's version as a log prints it. Builds of branches add words of their own, so the first numbers count if the whole
/// is no version. Empty if those are none either: what a log does not say stays unknown.
std::string version_of(const std::string& logged) {
  for (const std::string& text : {logged, logged.substr(0, logged.find_first_not_of("0123456789."))})
    if (parse_nccl_version(text)) return usual_form(text);
  return {};
}

/// The `--set` words for settings that the log states and the scenario leaves open.
std::vector<std::string> set_harness(const LogTable& table, const Imported& log, const World& world) {
  std::vector<std::string> set;
  if (table.ranks_per_process > 1) {
    set.push_back(fmt::format("workload.harness.ranks_per_process={}", table.ranks_per_process));
    if (table.threads > 1) set.push_back(fmt::format("workload.harness.threads={}", table.threads));
  }
  const std::string version = version_of(table.nccl_version.empty() ? log.nccl.version : table.nccl_version);
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
    check_figures(table, *op, path, world);
    std::vector<std::string> set = set_ranks(table, path, world);
    for (std::string& word : set_harness(table, log, world)) set.push_back(std::move(word));
    std::map<std::int64_t, Seconds> times;
    std::map<std::int64_t, int> lines;
    for (const LogRow& row : table.rows) {
      // Sizes of 0 bytes have no forecast to compare with.
      if (row.bytes <= 0 || !(row.time_us > 0) || !row.one_size()) continue;
      const Seconds time{row.time_us * 1e-6};
      const auto [it, fresh] = times.try_emplace(row.bytes, time);
      // The fastest of repeats: interference only adds time.
      if (!fresh && !(time < it->second)) continue;
      it->second = time;
      lines[row.bytes] = row.line;
    }
    if (times.empty()) continue;
    list.push_back(series_with(changes, std::move(set), *op, times, path));
    for (const auto& [bytes, line] : lines) list.back().lines.push_back(line);
    list.back().live = table.live;
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
    throw UserError(
        fmt::format("'{}' contains no measured collective", path),
        "it should be a table of nccl-tests, or CSV whose first line is bytes,time_us; `fabricast calibrate "
        "import LOG` shows what can be read from it");
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
