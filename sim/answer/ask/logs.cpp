// What questions ask of logs: series of measured collectives, wrong results, whether the log is of this cluster at all, and
// what measured rows say about a site (ask/logs.hpp). A log may be large and is read as a stream.
#include "fabricast/ask/logs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fabricast/calibrate/least_time.hpp"
#include "fabricast/calibrate/live.hpp"
#include "fabricast/calibrate/measured.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

namespace {

// Enough to recognize the format of cases, and that of telemetry.
constexpr std::size_t beginning_of_cases = std::size_t{1} << 20, beginning_of_telemetry = std::size_t{1} << 16;

/// The first bytes of a file; empty if it cannot be read.
std::string beginning_of(const std::string& path, std::size_t most) {
  std::ifstream in(path, std::ios::binary);
  std::string text(most, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return text;
}

/// The files of the fitted profiles that the scenario uses.
std::vector<std::string> profiles_of(const Scenario& scenario) {
  std::vector<std::string> files;
  for (const std::string* file : {&scenario.node.spec.profile, &scenario.profile})
    if (file->ends_with(".json")) files.push_back(beside(scenario.file, *file));
  return files;
}

void append(std::vector<MeasuredSeries>& list, std::vector<MeasuredSeries> more) {
  for (MeasuredSeries& series : more) list.push_back(std::move(series));
}

std::string beginning_of(const LiveSource& source, std::size_t most) {
  std::string text(most, '\0');
  std::size_t size = 0;
  // A source gives what it has at hand, and 0 only at its end.
  while (size < most) {
    const std::size_t got = source.read(size, text.data() + size, most - size);
    if (got == 0) break;
    size += got;
  }
  text.resize(size);
  return text;
}

/// The text of a source as a stream.
class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(LiveSource source) : source_(std::move(source)), buffer_(std::size_t{1} << 16) {}

 protected:
  int_type underflow() override {
    const std::size_t got = source_.read(offset_, buffer_.data(), buffer_.size());
    offset_ += got;
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return got > 0 ? traits_type::to_int_type(buffer_.front()) : traits_type::eof();
  }

 private:
  LiveSource source_;
  std::vector<char> buffer_;
  std::uint64_t offset_ = 0;
};

Imported read_gzipped_log(const LiveSource& source) {
  SourceBuffer buffer(source);
  std::istream in(&buffer);
  // Streams would keep the reason of a fault to themselves.
  in.exceptions(std::ios::badbit);
  return import_log(in);
}

Imported read_log_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError(fmt::format("cannot read '{}': {}", path, system_reason(errno)));
  return import_log(in);
}

std::vector<std::string> files_in(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.is_regular_file(error) && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path().string());
  if (error) throw UserError(fmt::format("cannot read '{}': {}", directory, error.message()));
  if (files.empty()) throw UserError(fmt::format("'{}' has no files", directory));
  // Directories list their files in no order.
  std::sort(files.begin(), files.end());
  return files;
}

/// Reads logs one by one, and telemetry of a job when all of its files are known.
class LogReader {
 public:
  /// \param directory  that the file was found in; empty: the user named the file
  /// \returns whether it is a log, which every file is that the user named
  bool read(const std::string& path, const std::string& directory) {
    // A pipe can be read only once, and telemetry is in files.
    std::error_code status;
    const bool file = std::filesystem::is_regular_file(path, status);
    const bool packed = file && is_gzip(beginning_of(path, 2));
    const LiveSource source = live_file(path);
    const auto format = file ? live_format_of(packed ? beginning_of(source, beginning_of_telemetry)
                                                     : beginning_of(path, beginning_of_telemetry))
                             : std::nullopt;
    if (format) {
      add(*format, path, directory);
      return true;
    }
    Imported log = packed ? read_gzipped_log(source) : read_log_file(path);
    // A directory may hold anything.
    if (!directory.empty() && log.empty()) return false;
    logs_.emplace_back(path, std::move(log));
    return true;
  }

  NamedLogs finish() {
    for (const Job& job : jobs_) {
      auto& [name, log] = logs_[job.place];
      log = import_job(job.format, job.files);
      const std::size_t count = job.files.size();
      if (count == 1)
        name = job.files[0].name;
      else
        name += job.directory.empty() ? fmt::format(" and {} more", count - 1) : fmt::format(" ({} files)", count);
    }
    return std::move(logs_);
  }

 private:
  struct Job {
    LiveFormat format;
    std::string directory;  ///< empty: files that the user named
    std::vector<LiveSource> files;
    std::size_t place;  ///< in the list of logs
  };

  void add(LiveFormat format, const std::string& path, const std::string& directory) {
    auto job = std::find_if(jobs_.begin(), jobs_.end(),
                            [&](const Job& j) { return j.format == format && j.directory == directory; });
    if (job == jobs_.end()) {
      jobs_.push_back({format, directory, {}, logs_.size()});
      logs_.emplace_back(directory.empty() ? path : directory, Imported());
      job = std::prev(jobs_.end());
    }
    job->files.push_back(live_file(path));
  }

  NamedLogs logs_;
  std::vector<Job> jobs_;
};

}  // namespace

NamedLogs read_log_files(const std::vector<std::string>& paths) {
  LogReader reader;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      reader.read(path, {});
      continue;
    }
    bool any = false;
    for (const std::string& file : files_in(path)) any = reader.read(file, path) || any;
    // Answers without the logs that were asked for would look as if they were with them.
    if (!any)
      throw UserError(fmt::format("no file in '{}' is a log", path),
                      "logs are tables of nccl-tests, CSV whose first line is bytes,time_us, and telemetry of jobs");
  }
  return reader.finish();
}

NamedLog read_log_text(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  return {name, import_log(in)};
}

std::vector<Diagnostic> problems_of(const NamedLog& named) {
  const auto& [name, log] = named;
  std::vector<Diagnostic> found;
  const auto warn = [&](const std::string& file, int line, int column, std::string message) {
    found.push_back({Diagnostic::Severity::warning, {file, line, column, 1}, {}, std::move(message), {}});
  };
  for (const Problem& p : log.problems) warn(p.file.empty() ? name : p.file, p.line, p.column, p.message);
  if (log.problems_left_out > 0) warn(name, 0, 0, fmt::format("{} more lines cannot be read", log.problems_left_out));
  return found;
}

std::vector<Diagnostic> left_out_of(const NamedLog& named, const World& world) {
  const auto& [name, log] = named;
  const auto live = static_cast<std::size_t>(
      std::count_if(log.tables.begin(), log.tables.end(), [](const LogTable& table) { return table.live; }));
  if (live == 0 || world.scenario().workload.kind != WorkloadKind::collective) return {};
  const std::size_t compared = series_of_log(log, name, world).size();
  if (compared >= live) return {};
  return {
      {Diagnostic::Severity::warning,
       {name, 0, 0, 1},
       {},
       fmt::format("{} of {} tables are left out: their communicators are not whole nodes of the scenario, or their "
                   "sizes are not known",
                   live - compared, live),
       {}}};
}

std::vector<WrongRow> wrong_rows_of(const NamedLogs& logs) {
  std::vector<WrongRow> wrong;
  for (const auto& [path, log] : logs)
    for (const LogTable& table : log.tables) {
      const auto op = table.tool == "nccl_tests" ? enum_from<CollectiveOp>(table.operation) : std::nullopt;
      if (!op) continue;
      for (const LogRow& row : table.rows)
        if (row.wrong > 0) wrong.push_back({*op, row.bytes, row.wrong});
    }
  return wrong;
}

std::vector<Contradiction> contradictions_of(const NamedLogs& logs, const World& world) {
  std::vector<Contradiction> all;
  // Logs on fewer nodes of the same cluster are welcome: their number of nodes contradicts the scenario, but need not
  // be its own as long as another log's is.
  bool one_fits = false;
  for (const auto& [path, log] : logs) {
    for (Contradiction& found : contradictions(log, world)) all.push_back(std::move(found));
    for (const LogTable& table : log.tables)
      one_fits =
          one_fits || table.nodes == world.scenario().cluster.nodes || table.ranks == world.planner().comm.ranks();
  }
  if (one_fits) std::erase_if(all, [](const Contradiction& c) { return c.key == "cluster.nodes"; });
  return all;
}

std::vector<MeasuredSeries> series_of_logs(const NamedLogs& logs, const World& world) {
  std::vector<MeasuredSeries> measured;
  for (const auto& [path, log] : logs) {
    // RAS and dumps without durations tell who is behind, and no times.
    if (log.tables.empty() && !log.job.tool.empty()) continue;
    append(measured, series_of_log(log, path, world));
  }
  return measured;
}

std::vector<JobCommunicator> behind_in(const NamedLogs& logs) {
  std::vector<JobCommunicator> behind;
  for (const auto& [path, log] : logs)
    for (const JobCommunicator& c : log.job.communicators)
      if (!c.behind.empty()) behind.push_back(c);
  return behind;
}

std::map<Cause, double> evidence_of(const NamedLogs& logs, const World& world) {
  std::map<Cause, double> weights;
  for (const auto& [path, log] : logs)
    for (const auto& [cause, weight] : evidence(log, world)) {
      double& known = weights.try_emplace(cause, 1).first->second;
      if (std::abs(std::log(weight)) > std::abs(std::log(known))) known = weight;
    }
  return weights;
}

std::vector<MeasuredFile> read_measured_files(const std::vector<std::string>& paths) {
  std::vector<MeasuredFile> files;
  std::vector<std::string> logs;
  for (const std::string& path : paths)
    if (holds_cases(beginning_of(path, beginning_of_cases)))
      files.push_back({{path, {}}, read_cases(path)});
    else
      logs.push_back(path);
  for (NamedLog& log : read_log_files(logs)) files.push_back({std::move(log), {}});
  return files;
}

MeasuredFile read_measured_text(const std::string& text, const std::string& name) {
  if (holds_cases(text)) return {{name, {}}, cases_of(text, name)};
  return {read_log_text(text, name), {}};
}

MeasuredSite site_of(const std::vector<MeasuredFile>& files, const World& world, const RunOptions& how) {
  std::vector<MeasuredSeries> series;
  for (const MeasuredFile& file : files)
    append(series, file.cases.empty() ? series_of_log(file.log.second, file.log.first, world)
                                      : series_of_cases(file.cases, world));
  const bool collective = world.scenario().workload.kind == WorkloadKind::collective;
  if (!series.empty() && !collective)
    throw UserError("measured rows are for collectives, but the workload is not a collective",
                    "`fabricast calibrate fit` makes a profile from measured collectives");
  // Steps are affected by the parameters of a profile only.
  if (!collective) return unmeasured_site();
  append(series, series_of_scenario(world));
  if (!series.empty() && world.scenario().network.engine != EngineKind::flow)
    throw UserError::at("network.engine", "only forecasts of the flow engine can be conditioned on measured rows",
                        "leave out the measured rows, or use --set network.engine=flow");
  refuse_impossible(series, world.scenario());
  // A fitted profile keeps the cases that it was fitted to. Its parameters are in the hardware already; its rows
  // condition what the parameters leave open.
  for (const std::string& path : profiles_of(world.scenario()))
    append(series, series_of_cases(cases_in_profile(read_file(path), path), world));
  return measured_site(shipped_residuals(), series, how);
}

}  // namespace fabricast
