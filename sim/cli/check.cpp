// `check`: a measured log against the forecast of what the cluster should be.
#include <fmt/format.h>

#include "commands.hpp"
#include "fabricast/calibrate/check.hpp"
#include "log_file.hpp"
#include "options.hpp"

namespace fabricast {

namespace po = boost::program_options;

namespace {

/// What a table by nccl-tests, or of CSV, is of; empty: something else, or by another tool.
std::optional<CollectiveOp> collective_of(const LogTable& table) {
  const bool times = table.tool == "nccl_tests" || table.tool == "csv";
  return times ? enum_from<CollectiveOp>(table.operation) : std::nullopt;
}

/// The collectives of a log by nccl-tests, each size once.
std::vector<MeasuredCollective> measurements_of(const Imported& log, const std::string& path, const World& world) {
  std::vector<MeasuredCollective> list;
  for (const LogTable& table : log.tables) {
    const auto op = collective_of(table);
    if (!op) continue;
    if (table.ranks > 0 && table.ranks != world.planner.comm.ranks())
      throw UserError({Diagnostic{Diagnostic::Severity::error,
                                  {path, table.line, 1, 1},
                                  {},
                                  fmt::format("{} ran on {} ranks, and the scenario has {}", table.operation,
                                              table.ranks, world.planner.comm.ranks()),
                                  "cluster.nodes times node.gpus have to be the ranks of the log"}});
    MeasuredCollective m{*op, {}, {}};
    std::map<std::int64_t, double> times;  // of a size that was run again the fastest: the least disturbed
    for (const LogRow& row : table.rows)
      if (row.bytes > 0 && row.time_us > 0) {
        const auto [it, fresh] = times.try_emplace(row.bytes, row.time_us);
        if (!fresh) it->second = std::min(it->second, row.time_us);
      }
    for (const auto& [bytes, time] : times) m.rows.push_back({bytes, time});
    if (table.ranks_per_process > 1) {
      m.set.push_back(fmt::format("workload.harness.ranks_per_process={}", table.ranks_per_process));
      if (table.threads > 1) m.set.push_back(fmt::format("workload.harness.threads={}", table.threads));
    }
    const std::string& version = table.nccl_version.empty() ? log.nccl.version : table.nccl_version;
    if (!version.empty() && !world.scenario.nccl.version_given) m.set.push_back("nccl.version=\"" + version + "\"");
    if (table.iterations > 0) m.set.push_back(fmt::format("workload.harness.iterations={}", table.iterations));
    if (!m.rows.empty()) list.push_back(std::move(m));
  }
  if (list.empty())
    throw UserError(fmt::format("'{}' holds no collective by nccl-tests", path),
                    "`fabricast calibrate import LOG` shows what can be read of it");
  return list;
}

/// Rows whose results the tool found wrong.
std::vector<WrongRow> wrong_rows_of(const Imported& log) {
  std::vector<WrongRow> wrong;
  for (const LogTable& table : log.tables) {
    const auto op = collective_of(table);
    if (!op) continue;
    for (const LogRow& row : table.rows)
      if (row.wrong > 0) wrong.push_back({*op, row.bytes, row.wrong});
  }
  return wrong;
}

}  // namespace

int check_verb(const std::vector<std::string>& arguments) {
  Options options("check", "Says whether measured times are what the hardware should give and, if not, why.", {"LOG"});
  add_scenario_options(options);
  options.add()("scenario", po::value<std::string>()->required(), "what the cluster should be (YAML)")(
      "json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "threads", po::value<std::string>(), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json"), path = options.text("LOG");
  const RunOptions how = run_options(options);
  const Imported log = read_log(path);
  const auto world = load_world(options, Beside::left_out, "scenario");
  if (const auto found = contradictions(log, *world); !found.empty()) {
    if (!json.empty()) emit(json, contradictions_json(world->scenario, found));
    if (json != "-") emit("-", contradictions_text(world->scenario, found));
    return 1;
  }
  const std::vector<MeasuredCollective> measured = measurements_of(log, path, *world);
  CheckReport report = placed(world->scenario, [&] {
    return check(world->scenario, measured, shipped_sites(), evidence(log, *world), how);
  });
  report.wrong = wrong_rows_of(log);
  if (!json.empty()) emit(json, check_json(world->scenario, report));
  if (json != "-") emit("-", check_text(world->scenario, report));
  return report.healthy() ? 0 : 1;
}

}  // namespace fabricast
