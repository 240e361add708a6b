// Logs of a run, as `check` and `gate` judge them.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/check.hpp"
#include "fabricast/calibrate/import.hpp"

namespace fabricast {

/// A log with its name.
struct NamedLog {
  std::string path;
  Imported log;
};

/// \throws UserError if one can not be read
std::vector<NamedLog> read_logs(const std::vector<std::string>& paths);

/// Rows whose results the tool found wrong.
std::vector<WrongRow> wrong_rows_of(const std::vector<NamedLog>& logs);

/// Faults of all logs. Where several ran on unlike numbers of nodes, the scenario has to be of one of them.
std::vector<Contradiction> contradictions_of(const std::vector<NamedLog>& logs, const World& world);

/// The collectives of all logs.
/// \throws UserError if one holds none
std::vector<MeasuredSeries> series_of_logs(const std::vector<NamedLog>& logs, const World& world);

}  // namespace fabricast
