// A log of any tool: one entry reads all formats, in any mixture; what it finds is then written, and made into cases with and
// without a scenario.
#include <istream>
#include <streambuf>

#include "fabricast/calibrate/import_cases.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

namespace {

/// The bytes, not copied.
class LogBytes : public std::streambuf {
 public:
  explicit LogBytes(std::string_view bytes) {
    // A stream that only reads leaves them as they are.
    char* begin = const_cast<char*>(bytes.data());
    setg(begin, begin, begin + bytes.size());
  }
};

void make_cases(const NamedLogs& logs, const Scenario* scenario) {
  try {
    const ImportedCases made = cases_of_logs(logs, "system", scenario);
    for (const MeasuredCase& c : made.cases) {
      require(!c.rows.empty() && c.nodes > 0 && c.gpus_per_node > 0);
      for (const MeasuredRow& row : c.rows) require(row.bytes > 0 && row.time_us > 0);
    }
    require_clean(cases_json(made));
  } catch (const UserError& e) { require_stated(e, {}); }
}

}  // namespace

void read_import(std::string_view bytes) {
  LogBytes buffer(bytes);
  std::istream in(&buffer);
  const NamedLogs logs = {{"log", import_log(in)}};
  const Imported& log = logs[0].second;
  for (const LogTable& table : log.tables) {
    require(!table.rows.empty());
    int before = 0;
    for (const LogRow& row : table.rows) {
      require(row.line >= before && row.line <= log.lines && row.bytes >= 0 && row.time_us > 0 && row.wrong >= 0);
      before = row.line;
    }
  }
  require(log.empty() || log.lines > 0);
  int before = 0;
  for (const Problem& problem : log.problems) {
    require(problem.line >= before && !problem.message.empty());
    before = problem.line;
  }
  if (bytes.size() % 8 != 0) return;  // the writers have less to fear, and take longer
  require_clean(import_text(log));
  require_clean(import_json(logs));
  static const Scenario scenario;
  make_cases(logs, nullptr);
  make_cases(logs, &scenario);
}

}  // namespace fabricast::fuzz
