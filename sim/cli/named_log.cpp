// What `check` and `gate` ask of logs: series of measured collectives, wrong results, and whether the log is of this
// cluster at all.
#include "named_log.hpp"

#include "fabricast/calibrate/measured.hpp"
#include "log_file.hpp"

namespace fabricast {

std::vector<NamedLog> read_logs(const std::vector<std::string>& paths) {
  std::vector<NamedLog> logs;
  for (const std::string& path : paths) logs.push_back({path, read_log(path)});
  return logs;
}

std::vector<WrongRow> wrong_rows_of(const std::vector<NamedLog>& logs) {
  std::vector<WrongRow> wrong;
  for (const NamedLog& named : logs)
    for (const LogTable& table : named.log.tables) {
      const auto op = table.tool == "nccl_tests" ? enum_from<CollectiveOp>(table.operation) : std::nullopt;
      if (!op) continue;
      for (const LogRow& row : table.rows)
        if (row.wrong > 0) wrong.push_back({*op, row.bytes, row.wrong});
    }
  return wrong;
}

std::vector<Contradiction> contradictions_of(const std::vector<NamedLog>& logs, const World& world) {
  std::vector<Contradiction> all;
  // Logs on fewer nodes of the same cluster are welcome: their number of nodes contradicts the scenario, but need not
  // be its own as long as another log's is.
  bool one_fits = false;
  for (const NamedLog& named : logs) {
    for (Contradiction& found : contradictions(named.log, world)) all.push_back(std::move(found));
    for (const LogTable& table : named.log.tables)
      one_fits =
          one_fits || table.nodes == world.scenario().cluster.nodes || table.ranks == world.planner().comm.ranks();
  }
  if (one_fits) std::erase_if(all, [](const Contradiction& c) { return c.key == "cluster.nodes"; });
  return all;
}

std::vector<MeasuredSeries> series_of_logs(const std::vector<NamedLog>& logs, const World& world) {
  std::vector<MeasuredSeries> measured;
  for (const NamedLog& named : logs)
    for (MeasuredSeries& series : series_of_log(named.log, named.path, world)) measured.push_back(std::move(series));
  return measured;
}

}  // namespace fabricast
