// Telemetry of a job in any format: the format is what the bytes look like, and a job is one file, or two with the same
// bytes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fabricast/calibrate/live.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_live(std::string_view bytes) {
  const auto format = live_format_of(bytes);
  if (!format) return;
  const auto read = [bytes](std::uint64_t offset, char* to, std::size_t size) {
    if (offset >= bytes.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(size, bytes.size() - offset);
    std::memcpy(to, bytes.data() + offset, count);
    return count;
  };
  std::vector<LiveSource> sources = {{"dump_0", read}};
  if (bytes.size() % 2 == 0) sources.push_back({"dump_1", read});
  const NamedLogs logs = {{"job", import_job(*format, sources)}};
  const Imported& job = logs[0].second;
  for (const LogTable& table : job.tables) {
    require(table.live && !table.rows.empty() && table.ranks >= 0 && table.nodes >= 0);
    for (const LogRow& row : table.rows) {
      require(row.bytes > 0 && row.time_us > 0 && std::isfinite(row.time_us));
      require(row.spread && row.spread->calls > 0 && row.spread->low_us <= row.spread->high_us);
      require(!row.spread->matched || table.ranks > 0);
    }
  }
  for (const JobCommunicator& c : job.job.communicators) require(!c.id.empty() && c.seen >= 0 && c.part >= 0);
  for (const Problem& problem : job.problems) require(!problem.message.empty() && problem.line >= 0);
  require_clean(import_text(job));
  require_clean(import_json(logs));
}

}  // namespace fabricast::fuzz
