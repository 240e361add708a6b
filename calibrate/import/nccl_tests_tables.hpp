// Tables of nccl-tests, from its text and its JSON alike.
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

/// What the header of a run says of its ranks.
struct TestDevices {
  std::set<int> ranks;  ///< of the first group
  std::set<std::string> hosts, gpus;
  std::optional<int> group;
  void add(int rank, std::optional<int> of_group, const std::string& host, const std::string& gpu);
};

/// A run of one test program.
struct TestRun {
  std::string operation;  ///< as its header names it
  std::string command;    ///< as a command line before it names it
  int threads = 0, gpus = 0, iterations = 0;
  std::string nccl_version;
  std::map<std::string, std::string> details;
  TestDevices devices;
};

/// One place (out of or in place) of a row.
struct TestTiming {
  Printed time, algbw, busbw;
  std::int64_t wrong = 0;
};

struct TestRow {
  int line = 0;
  std::int64_t bytes = 0;
  std::string type, redop, root;
  bool cpu_time = false;
  std::optional<TestTiming> out_of_place, in_place;
};

/// Our word for a test program: `./build/all_reduce_perf` or all_reduce is all_reduce. Empty if nccl-tests has no such test.
std::string operation_of_test(std::string_view program);
/// A timing of words: time, algbw, busbw, and the number of wrong results (N/A: not counted).
/// \returns null if a word is no number
std::optional<TestTiming> timing_of(std::string_view time, std::string_view algbw, std::string_view busbw,
                                    std::string_view wrong);

class TestTables {
 public:
  explicit TestTables(ImportSink& sink) : sink_(sink) {}
  /// Ends the table and the run, and starts another.
  void start_run();
  TestRun& run() { return run_; }
  bool run_has_rows() const { return run_has_rows_; }
  /// Adds a row, or says what is wrong with it.
  void add(const TestRow& row);
  /// NCCL's version, if the run has not told.
  void tell_version(const std::string& version);
  /// Ends the table. What its figures contradict is a problem.
  void close();

 private:
  void open(const TestRow& row);
  void check_operation(LogTable& table);

  ImportSink& sink_;
  TestRun run_;
  bool run_has_rows_ = false;
  std::optional<LogTable> table_;
  /// Of each row, what its numbers leave for busbw / algbw.
  std::vector<std::pair<double, double>> ratios_;
};

}  // namespace fabricast
