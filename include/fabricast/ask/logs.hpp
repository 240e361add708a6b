// Logs that questions are about, and the measured rows of a site that answers are conditioned on.
//
// A log may be given as a file or as a text with a name for messages. Lines that cannot be understood are problems of
// the log and no errors: real logs contain output of launchers and other programs.
//
// Functions that read files throw UserError if they cannot. All are safe to call concurrently.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/check.hpp"
#include "fabricast/calibrate/import.hpp"
#include "fabricast/report/interval.hpp"

namespace fabricast {

/// A log with its path, or with that of its job's directory.
using NamedLog = NamedLogs::value_type;
/// A directory stands for the files in it, without those that are hidden. Telemetry of a job (calibrate/live.hpp) is
/// one log: all files of a directory in one format, and all files of one format that are named themselves.
/// \throws UserError  also if a directory has no log
NamedLogs read_log_files(const std::vector<std::string>& paths);
/// The same from a text that was read elsewhere, such as standard input. \param name  of the log, for messages
NamedLog read_log_text(const std::string& text, const std::string& name);
/// Lines of a log that could not be read, as warnings.
std::vector<Diagnostic> problems_of(const NamedLog& log);
/// Warns of telemetry's communicators that are not compared, because they are not whole nodes of the scenario.
std::vector<Diagnostic> left_out_of(const NamedLog& log, const World& world);

/// The rows with wrong results, as the tool counted them.
std::vector<WrongRow> wrong_rows_of(const NamedLogs& logs);

/// The contradictions of all logs with the scenario. If the logs ran on different numbers of nodes, one of them has to
/// match the scenario.
std::vector<Contradiction> contradictions_of(const NamedLogs& logs, const World& world);

/// The measured collectives of all logs. Telemetry without times has none.
/// \throws UserError if another log has none
std::vector<MeasuredSeries> series_of_logs(const NamedLogs& logs, const World& world);

/// The ranks that are behind, of all logs.
std::vector<JobCommunicator> behind_in(const NamedLogs& logs);

/// What the logs say about each cause. Logs of one run repeat the same evidence, so only the strongest counts.
std::map<Cause, double> evidence_of(const NamedLogs& logs, const World& world);

/// A file of measurements of a site: a log, or cases.
struct MeasuredFile {
  NamedLog log;                     ///< without a log if it holds cases
  std::vector<MeasuredCase> cases;  ///< empty if it is a log
};
/// Logs are read together, as by `read_log_files`.
std::vector<MeasuredFile> read_measured_files(const std::vector<std::string>& paths);
/// The same from a text. \param name  of the file, for messages
MeasuredFile read_measured_text(const std::string& text, const std::string& name);

/// The measurements of a site from all places where they may be: files, the scenario's own rows, and the cases that its
/// fitted profiles keep; compared with their forecasts (report/interval.hpp).
/// \throws UserError if there are rows and the workload is not a collective of the flow engine, or if a row is faster
///         than the hardware can be (calibrate/least_time.hpp)
MeasuredSite site_of(const std::vector<MeasuredFile>& files, const World& world, const RunOptions& how);

}  // namespace fabricast
