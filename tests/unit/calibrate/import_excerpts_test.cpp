// What people paste: rows of nccl-tests without their header, and CSV. The figures are invented.
#include <catch2/catch.hpp>

#include "support/import_text.hpp"

namespace fabricast {
namespace {

/// 1 MiB in 100 us are 10.49 GB/s, 64 MiB in 1342.2 us 50 GB/s; busbw is 1.75 times that: eight ranks of an all_reduce.
const std::string first =
    "     1048576        262144     float     sum      -1   100.00   10.49   18.35      0   100.00   10.49   18.35     "
    " 0\n";
const std::string second =
    "    67108864      16777216     float     sum      -1   1342.2   50.00   87.50      0   1342.2   50.00   87.50     "
    " 0\n";

std::string problems_of(const Imported& log) {
  std::string text;
  for (const Problem& p : log.problems) text += std::to_string(p.line) + ": " + p.message + "\n";
  return text;
}

TEST_CASE("rows of nccl-tests are read without any header, with the prefixes of launchers", "[import]") {
  for (const std::string prefix : {"", "0: ", " 12: ", "[1,0]<stdout>:", "2026-01-02T03:04:05.123456789Z ",
                                   "[pod/nccl-0/main] ", "worker-0 | ", "2026-01-02 03:04:05 "}) {
    INFO(prefix);
    const Imported log = import_text_of(prefix + first + prefix + second);
    CHECK(problems_of(log).empty());
    REQUIRE(log.tables.size() == 1);
    const LogTable& t = log.tables[0];
    CHECK(t.tool == "nccl_tests");
    CHECK(t.ranks == 0);
    CHECK(t.nodes == 0);
    CHECK(t.ranks_per_process == 0);
    REQUIRE(t.rows.size() == 2);
    CHECK(t.rows[0].line == 1);
    CHECK(t.rows[1].line == 2);
    CHECK(t.rows[1].bytes == 67108864);
    CHECK(t.rows[1].time_us == 1342.2);
    CHECK(t.rows[1].in_place_us == 1342.2);
  }
  // The lines with # make no difference.
  const std::string some =
      "#                                  out-of-place         in-place\n#        (B)    (elements)      (us)  "
      "(GB/s)\n";
  CHECK(import_text_of(some + first + second + "# Avg bus bandwidth    : 53\n").tables.at(0).rows.size() == 2);
}

TEST_CASE("the columns of a row alone are told by their number", "[import]") {
  const auto only = [](const std::string& row) {
    const Imported log = import_text_of(row);
    INFO(row);
    REQUIRE(problems_of(log).empty());
    REQUIRE(log.tables.size() == 1);
    REQUIRE(log.tables[0].rows.size() == 1);
    CHECK(log.tables[0].rows[0].time_us == 100);
    return log.tables[0];
  };
  CHECK(only("1048576 262144 float sum -1 100.0 10.49 18.35 0 90.0 11.65 20.39 2\n").rows[0].wrong == 2);
  CHECK(only("1048576 262144 float sum 100.0 10.49 18.35 0e+00 90.0 11.65 20.39 2e-07\n").rows[0].in_place_us == 90);
  CHECK(only("1048576 262144 float -1 100.0 10.49 18.35 0 90.0 11.65 20.39 0\n").details.at("root") == "-1");
  CHECK(only("1048576 262144 float sum -1 100.0 10.49 18.35 90.0 11.65 20.39\n").rows[0].in_place_us == 90);
  CHECK(only("1048576 262144 float sum 100.0 10.49 18.35 90.0 11.65 20.39\n").rows[0].in_place_us == 90);
  CHECK_FALSE(only("1048576 262144 float sum -1 100.0 10.49 18.35 0\n").rows[0].in_place_us);
  CHECK_FALSE(only("1048576 262144 float sum 100.0 10.49 18.35 0\n").rows[0].in_place_us);
  CHECK_FALSE(only("1048576 262144 float sum 0 100.0 10.49 18.35\n").rows[0].in_place_us);
  // A long time is printed without a fraction.
  CHECK(import_text_of("1073741824 268435456 float sum -1 123456 8.70 15.22 0 123457 8.70 15.22 0\n")
            .tables.at(0)
            .rows[0]
            .time_us == 123456);
  // Where time and bandwidth contradict each other, nothing is taken.
  CHECK(problems_of(import_text_of("1048576 262144 float sum 100.0 99.00 18.35 0 90.0 11.65 20.39 0\n")) ==
        "1: 1048576 bytes in 100 us are 10.49 GB/s, not 99\n");
  CHECK(problems_of(import_text_of("1048576 262144 float sum -1 100.0\n")) == "1: truncated row\n");
}

TEST_CASE("of an excerpt a command line tells the operation, or nobody does", "[import]") {
  CHECK(import_text_of(first + second).tables.at(0).operation.empty());
  CHECK(import_text_of("+ srun ./build/all_reduce_perf -b 1M -e 64M\n" + first).tables.at(0).operation == "all_reduce");
}

TEST_CASE("CSV: columns by name in any order, sizes with units, collectives apart", "[import]") {
  const Imported plain = import_text_of("bytes,time_us\n1024,12.5\n8MiB,250\n");
  CHECK(problems_of(plain).empty());
  REQUIRE(plain.tables.size() == 1);
  CHECK(plain.tables[0].tool == "csv");
  CHECK(plain.tables[0].operation.empty());
  CHECK(plain.tables[0].line == 2);
  REQUIRE(plain.tables[0].rows.size() == 2);
  CHECK(plain.tables[0].rows[1].bytes == 8388608);
  CHECK(plain.tables[0].rows[1].time_us == 250);
  CHECK(plain.tables[0].rows[1].line == 3);

  const Imported mixed = import_text_of(
      "\xef\xbb\xbf\"Note\";\"busbw\";\"Time_us\";\"wrong\";\"collective\";\"Size\"\r\n"
      "a;18.35;100.0;0;all_reduce;1MiB\r\nb;9.0;100.0;3;all_gather;1048576\r\nc;18.35;100.0;;all_reduce;1048576B\r\n");
  CHECK(problems_of(mixed).empty());
  REQUIRE(mixed.tables.size() == 2);
  CHECK(mixed.tables[0].operation == "all_reduce");
  CHECK(mixed.tables[0].rows.size() == 2);
  CHECK(mixed.tables[1].operation == "all_gather");
  CHECK(mixed.tables[1].rows[0].wrong == 3);
  for (const std::string prefix : {"0: ", "[1,0]<stdout>:", "2026-01-02T03:04:05.123456789Z "}) {
    INFO(prefix);
    const Imported log = import_text_of(prefix + "size\ttime_us\n" + prefix + "64\t3.5\n" + prefix + "128\tx\n");
    CHECK(log.tables.at(0).rows.at(0).time_us == 3.5);
    CHECK(problems_of(log) == "3: the time 'x' is not a number of microseconds above 0\n");
  }
  // Without a header nobody knows which column is which; nor where two have one name.
  CHECK(import_text_of("1024,12.5\n2048,13\n").empty());
  CHECK(import_text_of("bytes,time_us,time_us\n1024,12.5,13\n").empty());
  CHECK(import_text_of("bytes,time_ms\n1024,12.5\n").empty());
}

TEST_CASE("damaged lines of CSV are problems of their lines, and the rest is read", "[import]") {
  const Imported log = import_text_of(
      "size,time_us,algbw,busbw\n"
      "1048576,100.0,10.49,18.35\n"
      "1048576,100.0\n"
      "1048576,100.0,10.49,18.35,7\n"
      "8Mi,100.0,,\n"
      "1.5,100.0,,\n"
      "-8,100.0,,\n"
      "1048576,fast,,\n"
      "1048576,0,,\n"
      "1048576,nan,,\n"
      "1048576,100.0,99.0,\n"
      "1048576,100.0,,44\n"
      "99999999999999999999,1,,\n"
      "# a remark\n"
      "2097152,200.0,10.49,\n"
      "\n"
      "4194304,400.0,10.49,18.35\n");
  REQUIRE(log.tables.size() == 1);
  CHECK(log.tables[0].rows.size() == 2);  // after an empty line it is over
  CHECK(log.tables[0].rows[1].line == 15);
  std::vector<int> lines;
  for (const Problem& p : log.problems) lines.push_back(p.line);
  CHECK(lines == std::vector<int>{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  CHECK(log.problems[0].message == "truncated row");
  CHECK(log.problems[1].message == "5 fields, but the header has 4");
  CHECK(log.problems[8].message == "1048576 bytes in 100 us are 10.49 GB/s, not 99");
  // Nothing of the file is echoed raw.
  const Imported codes = import_text_of("bytes,time_us\n\x01\x02,\x7f\n5,x\x1b[31my\n");
  for (const Problem& p : codes.problems)
    for (const char c : p.message) CHECK((c >= ' ' && c != '\x7f'));
}

TEST_CASE("each table keeps its log and its line where several logs are read", "[import]") {
  NamedLogs logs;
  logs.emplace_back("a.csv", import_text_of("bytes,time_us\n1024,12.5\n"));
  logs.emplace_back("b.log", import_text_of("noise\n" + first));
  const std::string json = import_json(logs);
  const std::size_t a = json.find("a.csv"), csv = json.find("\"csv\""), b = json.find("b.log"),
                    tests = json.find("nccl_tests");
  CHECK(a < csv);
  CHECK(csv < b);
  CHECK(b < tests);
  CHECK(tests != std::string::npos);
  CHECK(logs[0].second.tables[0].line == 2);
  CHECK(logs[1].second.tables[0].line == 2);
}

}  // namespace
}  // namespace fabricast
