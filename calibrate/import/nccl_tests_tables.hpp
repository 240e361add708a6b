// Tables of nccl-tests: what its text and its JSON have in common.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

/// The ranks that the header of a run lists. If it lists several groups, only the first counts.
struct TestDevices {
  std::set<int> ranks;
  std::set<std::string> hosts, gpus;
  std::optional<int> group;
  void add(int rank, std::optional<int> of_group, const std::string& host, const std::string& gpu);
};

/// A run of one test program.
struct TestRun {
  std::string operation;  ///< as its header states it
  std::string command;    ///< as the command line before it states it
  int threads = 0, gpus = 0, iterations = 0;
  std::string nccl_version;
  std::map<std::string, std::string> details;
  TestDevices devices;
};

/// One of the two timings of a row, out of place or in place.
struct TestTiming {
  Printed time, algbw, busbw;
  std::int64_t wrong = 0;
};

/// What all rows of a table have in common.
struct TestKind {
  std::string type, redop, root;
  bool cpu_time = false;
  friend bool operator==(const TestKind&, const TestKind&) = default;
};

struct TestRow {
  int line = 0;
  std::int64_t bytes = 0;
  TestKind kind;
  std::optional<TestTiming> out_of_place, in_place;
};

/// The operation of a test program: `./build/all_reduce_perf` and `all_reduce` are all_reduce. Empty if nccl-tests has
/// no such test.
std::string operation_of_test(std::string_view program);
/// A timing from the words of a row: time, algbw, busbw, and the number of wrong results (N/A: not counted).
/// \returns null if a word is not a number
std::optional<TestTiming> timing_of(std::string_view time, std::string_view algbw, std::string_view busbw,
                                    std::string_view wrong);

/// Collects rows into tables and checks them: each row by itself, and the ratio busbw / algbw of a whole table against
/// the factor of its operation [nccl-tests-performance].
class TestTables {
 public:
  explicit TestTables(ImportSink& sink) : sink_(sink) {}
  /// Ends the table and the run, and starts another run.
  void start_run();
  TestRun& run() { return run_; }
  bool run_has_rows() const { return run_has_rows_; }
  /// Adds a row, or reports what is wrong with it. A new type, operator or root starts a new table.
  void add(const TestRow& row);
  /// Sets NCCL's version unless the run states one.
  void tell_version(const std::string& version);
  /// Ends the table. Rows that contradict its operation become problems.
  void close();

 private:
  void open(const TestRow& row);
  void check_operation(LogTable& table);

  ImportSink& sink_;
  TestRun run_;
  bool run_has_rows_ = false;
  std::optional<LogTable> table_;
  TestKind kind_;  ///< of the rows of the table
  /// By row, the range of busbw / algbw that the rounding of its numbers allows.
  std::vector<std::pair<double, double>> ratios_;
};

}  // namespace fabricast
