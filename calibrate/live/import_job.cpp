// Telemetry of jobs: recognises the format and reads all files side by side, the one whose next record is oldest first.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <queue>

#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/scan.hpp"
#include "gzip.hpp"
#include "job_reader.hpp"

namespace fabricast {

namespace {

using live::CallReader;
using live::Job;
using live::RankCall;

using MakeReader = std::unique_ptr<CallReader> (*)(const LiveSource&, std::size_t, Job&);

std::unique_ptr<CallReader> inspector_file(const LiveSource& source, std::size_t piece, Job& job) {
  return live::inspector_reader(source, piece, job, false);
}

// In the order of LiveFormat.
constexpr std::array<MakeReader, 7> makers = {
    inspector_file,      live::prometheus_reader, live::profiler_reader, live::flight_recorder_reader,
    live::kineto_reader, live::chakra_reader,     live::ras_reader};

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// A pickle begins with its protocol.
bool is_pickle(std::string_view text) { return text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5; }

}  // namespace

LiveSource live_file(const std::string& path) {
  const auto read = [path](std::uint64_t offset, char* to, std::size_t size) -> std::size_t {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw UserError(fmt::format("cannot read '{}': {}", path, system_reason(errno)));
    std::size_t done = 0;
    ssize_t got = 0;
    int fault = 0;
    while (done < size) {
      got = ::pread(file, to + done, size - done, static_cast<off_t>(offset + done));
      fault = errno;
      if (got < 0 && fault == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    ::close(file);
    if (got < 0) throw UserError(fmt::format("cannot read '{}': {}", path, system_reason(fault)));
    return done;
  };
  return live::unpacked({path, read});
}

std::optional<LiveFormat> live_format_of(std::string_view beginning) {
  const std::string_view text = beginning.substr(0, std::size_t{1} << 16);
  if (is_pickle(text))
    return has(text, "entries") || has(text, "pg_config") || has(text, "comm_lib_version")
               ? std::optional(LiveFormat::flight_recorder)
               : std::nullopt;
  if (has(text, "nccl_bus_bandwidth_gbs{") || has(text, "nccl_collective_exec_time_microseconds{") ||
      has(text, "nccl_p2p_bus_bandwidth_gbs{"))
    return LiveFormat::prometheus;
  // What RAS prints; logs of NCCL have the first line alone.
  if (has(text, "NCCL version ") && has(text, "\nCUDA runtime version ") && has(text, "\nJob summary"))
    return LiveFormat::ras;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return std::nullopt;
  if (has(text, "\"inspector_output_format_version\"") || has(text, "\"coll_perf\"") || has(text, "\"p2p_perf\""))
    return LiveFormat::inspector;
  if (text[first] == '[')
    return has(text, "\"cat\": \"GROUP_API\"") || has(text, "\"cat\": \"COLL\"") || has(text, "\"cat\": \"COLL_API\"")
               ? std::optional(LiveFormat::profiler)
               : std::nullopt;
  if (has(text, "\"traceEvents\"") || (has(text, "\"schemaVersion\"") && has(text, "\"deviceProperties\"")))
    return LiveFormat::kineto;
  if (has(text, "\"collective_seq_id\"") || (has(text, "\"pg_config\"") && has(text, "\"pg_status\"")) ||
      (has(text, "\"comm_lib_version\"") && has(text, "\"entries\"")))
    return LiveFormat::flight_recorder;
  if (has(text, "\"communicators_count\"") || (has(text, "\"communicators\"") && has(text, "\"nccl_version\"")))
    return LiveFormat::ras;
  if (has(text, "chakra")) return LiveFormat::chakra;
  return std::nullopt;
}

Imported import_job(LiveFormat format, const std::vector<LiveSource>& sources) {
  constexpr std::size_t usual_piece = std::size_t{1} << 16, most_buffers = std::size_t{1} << 25;
  const std::size_t piece = std::clamp(most_buffers / sources.size(), std::size_t{4096}, usual_piece);
  Job job{std::string(name_of(format))};
  struct Place {
    std::unique_ptr<CallReader> reader;
    RankCall call;
  };
  std::vector<Place> places;
  for (const LiveSource& source : sources)
    places.push_back({makers[static_cast<std::size_t>(format)](source, piece, job), {}});
  // Oldest record first; of equal ones the first file, so that results do not depend on chance.
  using Entry = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].reader->next(places[i].call)) next.emplace(places[i].call.when, i);
  while (!next.empty()) {
    const std::size_t i = next.top().second;
    next.pop();
    Place& at = places[i];
    job.add(at.reader->name(), at.call);
    if (at.reader->next(at.call)) next.emplace(at.call.when, i);
  }
  return job.finish();
}

namespace live {

std::optional<int> rank_of_name(std::string_view file) {
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  // Without extensions: rank0.json, rank0.et, trace_3.pickle.
  while (!file.empty() && !is_digit(file.back())) {
    const std::size_t dot = file.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    file = file.substr(0, dot);
  }
  std::size_t digits = 0;
  while (digits < file.size() && is_digit(file[file.size() - 1 - digits])) ++digits;
  if (digits == 0) return std::nullopt;
  const auto rank = small_number(file.substr(file.size() - digits));
  return rank && *rank < (1 << 20) ? std::optional(*rank) : std::nullopt;
}

}  // namespace live

}  // namespace fabricast
