// Logs of nccl-tests, text and JSON. The figures are invented.
#include <catch2/catch.hpp>

#include <sstream>

#include "support/import_text.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

const std::string start =
    "# nccl-tests version 2.17.1 nccl-headers=22705 nccl-library=22703\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 67108864 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
    "validation: "
    "1 graph: 0\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   4711 on     node-a device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   4711 on     node-a device  1 [0000:3b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid    815 on     node-b device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid    815 on     node-b device  1 [0000:3b:00] NVIDIA H100 80GB HBM3\n"
    "#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n";
const std::string small_row =
    "        1024           256     float     sum      -1    12.50    0.08    0.12       0    12.40    0.08    0.12    "
    "   "
    "0\n";
const std::string large_row =
    "    67108864      16777216     float     sum      -1   1342.2   50.00   75.00       0   1355.0   49.53   74.29    "
    " "
    "N/A\n";
const std::string footer = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 37.3\n#\n";

TEST_CASE("a table of nccl-tests is read with all that its header tells", "[import]") {
  const Imported log = import_text_of(start + small_row + large_row + footer);
  REQUIRE(log.problems.empty());
  REQUIRE(log.tables.size() == 1);
  const LogTable& t = log.tables[0];
  CHECK(t.tool == "nccl_tests");
  CHECK(t.operation == "all_reduce");
  CHECK(t.ranks == 4);
  CHECK(t.nodes == 2);
  CHECK(t.ranks_per_process == 2);
  CHECK(t.threads == 1);
  CHECK(t.iterations == 20);
  CHECK(t.nccl_version == "2.27.3");
  CHECK(t.gpu == "NVIDIA H100 80GB HBM3");
  CHECK(t.details.at("type") == "float");
  CHECK(t.details.at("redop") == "sum");
  REQUIRE(t.rows.size() == 2);
  CHECK(t.rows[0].line == 14);
  CHECK(t.rows[0].bytes == 1024);
  CHECK(t.rows[0].time_us == 12.5);
  CHECK(t.rows[0].in_place_us == 12.4);
  CHECK(t.rows[1].bytes == 67108864);
  CHECK(t.rows[1].time_us == 1342.2);
}

TEST_CASE("prefixes, colours, CRLF and NCCL's lines between the rows change nothing", "[import]") {
  const auto times = [](const std::string& text) {
    std::vector<double> out;
    const Imported log = import_text_of(text);
    CHECK(log.problems.empty());
    for (const LogTable& t : log.tables) {
      CHECK(t.operation == "all_reduce");
      CHECK(t.ranks == 4);
      for (const LogRow& r : t.rows) out.push_back(r.time_us);
    }
    return out;
  };
  const std::string plain = start + small_row + large_row + footer;
  const auto each_line = [&](const std::string& before, const std::string& after) {
    std::istringstream in(plain);
    std::string text, line;
    while (std::getline(in, line)) text += before + line + after + "\n";
    return text;
  };
  const std::vector<double> expected = {12.5, 1342.2};
  CHECK(times(plain) == expected);
  for (const std::string prefix : {"[1,0]<stdout>:", "[1,0]<stdout>: ", "pod-0: ", "0: ", "2026-01-02T03:04:05.123Z ",
                                   "(worker pid=12) ", "[pod/nccl-0/main] ", "launcher  | ", "12:01:02 pod-0: "}) {
    INFO(prefix);
    CHECK(times(each_line(prefix, "")) == expected);
  }
  CHECK(times(each_line("", "\r")) == expected);
  CHECK(times(each_line("\x1b[0;32m", "\x1b[0m")) == expected);
  CHECK(times(start + "node-a:4711:4720 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n" + small_row +
              "[1,3]<stdout>:node-b:815:820 [1] NCCL INFO Connected all rings\n" + large_row) == expected);
}

TEST_CASE("a row that NCCL's lines interrupt is put together again", "[import]") {
  const std::string first = "        1024           256     float     sum      -1";
  const std::string rest = "    12.50    0.08    0.12       0    12.40    0.08    0.12       0\n";
  const std::string nccl = "node-a:4711:4720 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  for (const std::string& text : {start + first + nccl + nccl + rest, start + first + "\n" + nccl + rest}) {
    const Imported log = import_text_of(text);
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows[0].time_us == 12.5);
    CHECK(log.tables[0].rows[0].in_place_us == 12.4);
    CHECK(log.problems.empty());
    CHECK(log.nccl.edges.size() == 1);
  }
  const Imported broken = import_text_of(start + first + nccl + large_row);
  REQUIRE(broken.problems.size() == 1);
  CHECK(broken.problems[0].line == 14);
  CHECK(broken.problems[0].message == "truncated row");
  CHECK(broken.tables.at(0).rows.size() == 1);
}

TEST_CASE("columns are what the header names", "[import]") {
  SECTION("2.0: bytes, N, op, res") {
    const Imported log = import_text_of(
        "#                                                     out-of-place                    in-place\n"
        "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
        "     1048576        262144   float     sum  100.000  10.49  18.35    2e-07  102.000  10.28  17.99    2e-07\n");
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows[0].time_us == 100);
    CHECK(log.tables[0].rows[0].wrong == 0);
    CHECK(log.tables[0].operation.empty());
    CHECK(log.tables[0].ranks == 0);
  }
  SECTION("2.10: error, and no word for the operator of all_gather") {
    const Imported log = import_text_of(
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "     1048576        262144   float            100.0   10.49    9.18  0e+00    102.0   10.28    9.00  0e+00\n");
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows[0].time_us == 100);
    CHECK(log.tables[0].rows[0].in_place_us == 102);
    CHECK(log.problems.empty());
  }
  SECTION("per-iteration figures, iterations, a time stamp") {
    const Imported log = import_text_of(
        "# size count type redop root time algbw busbw #wrong #bitdiff i_min i_max i_p99 i_cv% time algbw busbw #wrong "
        "#bitdiff i_min i_max i_p99 i_cv% #iters timestamp\n"
        "1048576 262144 float sum -1 100.0 10.49 18.35 3 0 90.0 120.0 119.0 5.0 102.0 10.28 17.99 1 0 91.0 121.0 120.0 "
        "5.1 20 2026-01-02 03:04:05\n");
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows[0].time_us == 100);
    CHECK(log.tables[0].rows[0].in_place_us == 102);
    CHECK(log.tables[0].rows[0].wrong == 4);
  }
  SECTION("the host's time") {
    const Imported log = import_text_of(
        "# size count type redop root cputime algbw busbw #wrong\n1048576 262144 float sum -1 100.0 10.49 18.35 0\n");
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].cpu_time);
    CHECK_FALSE(log.tables[0].rows[0].in_place_us);
  }
  SECTION("a count of wrong results in one place only") {
    const Imported log = import_text_of(
        "# size count type redop root time algbw busbw time algbw busbw #wrong\n"
        "1024 256 float sum -1 1.00 1.02 1.02 1.00 1.02 1.02\n");
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows[0].in_place_us == 1);
  }
  SECTION("only in place") {
    const Imported log = import_text_of(start + "        1024           256     float     sum      -1" +
                                        std::string(32, ' ') + "    12.40    0.08    0.12       0\n");
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows[0].time_us == 12.4);
    CHECK(log.tables[0].rows[0].in_place_us == 12.4);
  }
  SECTION("no header at all: the log's start is cut off") {
    const Imported log = import_text_of(small_row + large_row);
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows.size() == 2);
    CHECK(log.tables[0].operation.empty());
  }
}

TEST_CASE("the operation is told by the header, a command line, or the figures, else by nobody", "[import]") {
  const std::string devices =
      "#   Rank  0 Pid  1 on a device  0 [0x19] Tesla V100-SXM2-16GB\n"
      "#   Rank  1 Pid  2 on a device  1 [0x1a] Tesla V100-SXM2-16GB\n"
      "#   Rank  2 Pid  3 on a device  2 [0x1b] Tesla V100-SXM2-16GB\n"
      "#   Rank  3 Pid  4 on a device  3 [0x1c] Tesla V100-SXM2-16GB\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  const auto row = [](const std::string& redop, const std::string& root, const std::string& busbw) {
    return "1048576 262144 float " + redop + " " + root + " 100.0 10.49 " + busbw + " 0 100.0 10.49 " + busbw + " 0\n";
  };
  const auto operation = [&](const std::string& text) { return import_text_of(text).tables.at(0).operation; };
  // busbw / algbw is 2 (n - 1) / n, (n - 1) / n or 1, here with n = 4.
  CHECK(operation(devices + row("sum", "-1", "15.73")) == "all_reduce");
  CHECK(operation(devices + row("sum", "-1", "7.86")) == "reduce_scatter");
  CHECK(operation(devices + row("sum", "-1", "10.49")) == "sendrecv");
  CHECK(operation(devices + row("sum", "0", "10.49")) == "reduce");
  CHECK(operation(devices + row("none", "0", "10.49")) == "broadcast");
  CHECK(operation(devices + row("none", "0", "7.86")).empty());   // scatter or gather
  CHECK(operation(devices + row("none", "-1", "7.86")).empty());  // all_gather or alltoall
  const std::string command = "+ mpirun -np 4 ./build/all_gather_perf -b 8 -e 1M\n";
  CHECK(operation(command + devices + row("none", "-1", "7.86")) == "all_gather");
  CHECK(operation(command + "+ ./alltoall_perf\n" + devices + row("none", "-1", "7.86")).empty());
  const Imported wrong = import_text_of(command + devices + row("sum", "-1", "15.73"));
  CHECK(wrong.tables.at(0).operation.empty());
  CHECK(wrong.problems.at(0).message.find("header is from another run") != std::string::npos);
}

TEST_CASE("columns and busbw / algbw tell the operations and ranks that a bare table may be of", "[import]") {
  const auto table = [](const std::string& redop, const std::string& busbw) {
    return import_text_of("8589934592 2147483648 float " + redop + " -1 30800 278.89 " + busbw + " 0 30800 278.89 " +
                          busbw + " 0\n")
        .tables.at(0);
  };
  const LogTable reduce = table("sum", "488.06");
  CHECK(figures_fit(reduce, CollectiveOp::all_reduce, 8));
  CHECK_FALSE(figures_fit(reduce, CollectiveOp::all_reduce, 384));
  CHECK_FALSE(figures_fit(reduce, CollectiveOp::alltoall, 8));
  CHECK(ranks_of_figures(reduce, CollectiveOp::all_reduce) == 8);
  CHECK(ranks_of_figures(reduce, CollectiveOp::reduce_scatter) == 0);
  CHECK(figures_text(reduce) == "redop sum, root -1, busbw / algbw 1.75");
  const LogTable plain = table("none", "209.17");  // 3/4
  CHECK(figures_fit(plain, CollectiveOp::alltoall, 4));
  CHECK(figures_fit(plain, CollectiveOp::all_gather, 4));
  CHECK_FALSE(figures_fit(plain, CollectiveOp::all_reduce, 4));
  CHECK(ranks_of_figures(plain, CollectiveOp::alltoall) == 4);
  CHECK(ranks_of_figures(plain, CollectiveOp::broadcast) == 0);
  // CSV has no such figures.
  const LogTable csv = import_text_of("bytes,time_us\n8589934592,30800\n").tables.at(0);
  CHECK(figures_fit(csv, CollectiveOp::alltoall, 5));
}

TEST_CASE("types and operators of one run are tables of their own, and a second run knows nothing of the first",
          "[import]") {
  std::string other = small_row;
  other.replace(other.find("float"), 5, " half");
  Imported log = import_text_of(start + small_row + large_row + other);
  REQUIRE(log.tables.size() == 2);
  CHECK(log.tables[0].rows.size() == 2);
  CHECK(log.tables[1].details.at("type") == "half");
  CHECK(log.tables[1].operation == "all_reduce");
  log = import_text_of(start + small_row + footer +
                       "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 50\n"
                       "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n" +
                       small_row);
  REQUIRE(log.tables.size() == 2);
  CHECK(log.tables[1].operation.empty());
  CHECK(log.tables[1].ranks == 0);
  CHECK(log.tables[1].nccl_version.empty());
  CHECK(log.tables[1].iterations == 50);
}

TEST_CASE("nonsense in a row is a problem of its line, and the rest is read", "[import]") {
  const auto message = [](const std::string& row) {
    const Imported log = import_text_of(start + small_row + row + large_row);
    INFO(row);
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows.size() == 2);
    REQUIRE(log.problems.size() == 1);
    CHECK(log.problems[0].line == 15);
    return log.problems[0].message;
  };
  const std::string rest = " 0.00 0.00 0\n";
  CHECK(message("2048 512 float sum -1 -3.00 0.00 0.00 0 -3.00 0.00 0.00 0\n") == "the time -3 is not above 0");
  CHECK(message("2048 512 float sum -1 nan 0.00 0.00 0 12.0 0.17 0.26 0\n") == "a time or bandwidth is not a number");
  CHECK(message("2048 512 float sum -1 1e999 0.00 0.00 0 12.0 0.17 0.26 0\n") == "a time or bandwidth is not a number");
  CHECK(message("99999999999999999999 512 float sum -1 12.0 0.17 0.26 0 12.0 0.17 0.26 0\n") ==
        "the size '99999999999999999999' is not a whole number of bytes");
  CHECK(message("-2048 512 float sum -1 12.0 0.17 0.26 0 12.0 0.17 0.26 0\n") == "the size -2048 is negative");
  CHECK(message("2048 512 flaot sum -1 12.0 0.17 0.26 0 12.0 0.17 0.26 0\n") == "unknown data type 'flaot'");
  CHECK(message("2048 512 float sum -1 12.0 0.17\n") == "truncated row");
  // Time and bandwidth: 2048 B in 12 us are 0.17 GB/s.
  CHECK(message("2048 512 float sum -1 12.0 1.70 2.55 0 12.0 0.17 0.26 0\n") ==
        "2048 bytes in 12 us are 0.1707 GB/s, not 1.7");
  // busbw is 1.5 algbw over 4 ranks.
  CHECK(message("67108864 16777216 float sum -1 1342.2 50.00 80.00 0 1342.2 50.00 75.00 0\n") ==
        "busbw / algbw is not 1.5 as in the other rows");
}

TEST_CASE("bandwidth as far as rounding allows is no contradiction", "[import]") {
  // 1 MiB in 95.05 to 95.15 us: 11.02 to 11.032 GB/s
  const std::string header = "# size count type redop root time algbw busbw #wrong\n";
  for (const std::string algbw : {"11.02", "11.03"})
    CHECK(import_text_of(header + "1048576 262144 float sum -1 95.1 " + algbw + " 16.54 0\n").problems.empty());
  for (const std::string algbw : {"11.01", "11.04"})
    CHECK(import_text_of(header + "1048576 262144 float sum -1 95.1 " + algbw + " 16.54 0\n").problems.size() == 1);
}

TEST_CASE("a log that ends in the middle of a row keeps the rows before", "[import]") {
  const std::string whole = start + small_row + large_row;
  // Of the last row anything may be missing but its last column.
  for (std::size_t cut = start.size() + small_row.size() + 5; cut < whole.size() - 10; ++cut) {
    const Imported log = import_text_of(whole.substr(0, cut));
    INFO(whole.substr(start.size() + small_row.size(), cut - start.size() - small_row.size()));
    REQUIRE(log.tables.size() == 1);
    CHECK(log.tables[0].rows.size() == 1);
    CHECK(log.problems.size() == 1);
  }
}

const std::string json_head =
    R"({"version":2,"start_time":"2026-01-02 03:04:05","args":["./build/all_reduce_perf","-b","1K","-J","o.json"],)"
    R"("env":["HOME=/root","NCCL_ALGO=Ring"],"nccl_version":22703,)"
    R"("config":{"nthreads":1,"ngpus":2,"minimum_bytes":1024,"maximum_bytes":67108864,"step_factor":2,"warmup_iters":5,)"
    R"("iterations":20,"aggregated_iterations":1,"validation":1,"graph":0,"blocking_collectives":"false",)"
    R"("devices":[{"rank":0,"group":0,"pid":1,"hostname":"a","device":0,"device_hex":"0000:19:00","device_info":"NVIDIA H100 80GB HBM3"},)"
    R"({"rank":1,"group":0,"pid":1,"hostname":"a","device":1,"device_hex":"0000:3b:00","device_info":"NVIDIA H100 80GB HBM3"}]},)"
    R"("results":[)";
const std::string json_row =
    R"({"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1",)"
    R"("out_of_place":{"time":100.000000,"alg_bw":10.485760,"bus_bw":10.485760,"nwrong":0.000000},)"
    R"("in_place":{"time":102.000000,"alg_bw":10.280157,"bus_bw":10.280157,"nwrong":null},)"
    R"("actual_iterations":20,"experiment_name":"a"})";
const std::string json_end =
    R"(],"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":10.4,"okay":"unchecked"},)"
    R"("end_time":"2026-01-02 03:04:06","errors":[]})";

TEST_CASE("the JSON of nccl-tests is read like its text, alone or in other text", "[import]") {
  const std::string json = json_head + json_row + "," + json_row + json_end;
  for (const std::string& text : {json, "noise\n" + json + "\n" + start + small_row}) {
    const Imported log = import_text_of(text);
    CHECK(log.problems.empty());
    REQUIRE(log.tables.size() == (text == json ? 1 : 2));
    const LogTable& t = log.tables[0];
    CHECK(t.operation == "all_reduce");
    CHECK(t.ranks == 2);
    CHECK(t.nodes == 1);
    CHECK(t.ranks_per_process == 2);
    CHECK(t.iterations == 20);
    CHECK(t.nccl_version == "2.27.3");
    CHECK(t.details.at("root") == "-1");
    REQUIRE(t.rows.size() == 2);
    CHECK(t.rows[0].time_us == 100);
    CHECK(t.rows[0].in_place_us == 102);
    CHECK(log.nccl.env == std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}});
  }
}

TEST_CASE("damaged JSON keeps the rows before, and the text after it is read", "[import]") {
  const Imported cut = import_text_of(json_head + json_row + "," + json_row.substr(0, 90));
  REQUIRE(cut.tables.size() == 1);
  CHECK(cut.tables[0].rows.size() == 1);
  REQUIRE(cut.problems.size() == 1);
  CHECK(cut.problems[0].message == "malformed or truncated JSON");
  const Imported both = import_text_of(json_head + json_row + ",\n" + start + small_row);
  CHECK(both.tables.size() == 2);
  CHECK(both.tables.back().ranks == 4);
  const Imported nan = import_text_of(
      json_head + R"({"size":8,"type":"float","out_of_place":{"time":"nan","alg_bw":1.0,"bus_bw":1.0,"nwrong":null}})" +
      json_end);
  CHECK(nan.tables.empty());
  CHECK(nan.problems.size() == 1);
  // Lines of JSON by other programs are none of ours.
  CHECK(import_text_of("{\"level\":\"info\",\"msg\":\"x\"}\n{\"broken\"\n").problems.empty());
}

TEST_CASE("a line without end is passed over in constant memory", "[import]") {
  const Imported log = import_text_of(start + small_row + std::string(1 << 20, 'x') + "\n" + large_row);
  CHECK(log.tables.at(0).rows.size() == 2);
  REQUIRE(log.problems.size() == 1);
  CHECK(log.problems[0].line == 15);
  // A line of JSON may be longer.
  std::string rows = json_row;
  for (int i = 1; i < 1000; ++i) rows += "," + json_row;
  CHECK(import_text_of(json_head + rows + json_end).tables.at(0).rows.size() == 1000);
}

TEST_CASE("problems are counted beyond the first thousand", "[import]") {
  std::string rows;
  for (int i = 0; i < 1500; ++i) rows += "2048 512 float sum -1 12.0 0.17\n";
  const Imported log = import_text_of(start + rows);
  CHECK(log.problems.size() == 1000);
  CHECK(log.problems_left_out == 500);
}

}  // namespace
}  // namespace fabricast
