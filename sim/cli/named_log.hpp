// The logs that `check` and `gate` judge.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/check.hpp"
#include "fabricast/calibrate/import.hpp"

namespace fabricast {

/// A log with its path.
struct NamedLog {
  std::string path;
  Imported log;
};

/// \throws UserError if a log cannot be read
std::vector<NamedLog> read_logs(const std::vector<std::string>& paths);

/// The rows with wrong results, as the tool counted them.
std::vector<WrongRow> wrong_rows_of(const std::vector<NamedLog>& logs);

/// The contradictions of all logs with the scenario. If the logs ran on different numbers of nodes, one of them has to
/// match the scenario.
std::vector<Contradiction> contradictions_of(const std::vector<NamedLog>& logs, const World& world);

/// The measured collectives of all logs.
/// \throws UserError if a log has none
std::vector<MeasuredSeries> series_of_logs(const std::vector<NamedLog>& logs, const World& world);

}  // namespace fabricast
