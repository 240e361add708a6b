// Bytes as a log: the importer must end, and must not crash, leak or run into undefined behaviour. One entry reads all
// formats, in any mixture; what it finds is then written, and made into cases with and without a scenario.
//
//   cmake -S . -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-14 -DFABRICAST_FUZZ=ON
//   ninja -C build-fuzz fuzz_import && build-fuzz/fuzz_import -dict=tests/fuzz/import.dict CORPUS tests/fuzz/import
#include <cstdint>
#include <cstdlib>
#include <istream>
#include <streambuf>

#include "fabricast/calibrate/import_cases.hpp"

namespace {

/// The fuzzer's bytes, not copied.
class Bytes : public std::streambuf {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) {
    // A stream that only reads leaves them as they are.
    char* begin = const_cast<char*>(reinterpret_cast<const char*>(data));
    setg(begin, begin, begin + size);
  }
};

void require(bool condition) {
  if (!condition) std::abort();
}

void make_cases(const fabricast::NamedLogs& logs, const fabricast::Scenario* scenario) {
  try {
    const fabricast::ImportedCases made = fabricast::cases_of_logs(logs, "system", scenario);
    for (const fabricast::MeasuredCase& c : made.cases) {
      require(!c.rows.empty() && c.nodes > 0 && c.gpus_per_node > 0);
      for (const fabricast::MeasuredRow& row : c.rows) require(row.bytes > 0 && row.time_us > 0);
    }
    fabricast::cases_json(made);
  } catch (const fabricast::UserError& e) { require(!e.diagnostics().empty()); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  std::istream in(&bytes);
  const fabricast::NamedLogs logs = {{"log", fabricast::import_log(in)}};
  const fabricast::Imported& log = logs[0].second;
  for (const fabricast::LogTable& table : log.tables) {
    require(!table.rows.empty());
    int before = 0;
    for (const fabricast::LogRow& row : table.rows) {
      require(row.line >= before && row.line <= log.lines && row.bytes >= 0 && row.time_us > 0 && row.wrong >= 0);
      before = row.line;
    }
  }
  require(log.empty() || log.lines > 0);
  int before = 0;
  for (const fabricast::Problem& problem : log.problems) {
    require(problem.line >= before && !problem.message.empty());
    before = problem.line;
  }
  if (size % 8 != 0) return 0;  // the writers have less to fear, and take longer
  fabricast::import_text(log);
  fabricast::import_json(logs);
  static const fabricast::Scenario scenario;
  make_cases(logs, nullptr);
  make_cases(logs, &scenario);
  return 0;
}
