// NCCL Inspector: the recorded job, with expectations computed by hand from its lines, and lines that are wrong.
#include <catch2/catch.hpp>

#include "support/telemetry.hpp"

namespace fabricast {
namespace {

Imported read_lines(const std::string& lines) {
  return import_job(LiveFormat::inspector, {text_source("a.log", lines)});
}

TEST_CASE("the recorded job of two processes is matched over its ranks", "[live]") {
  const Imported in = read_samples({"inspector/node0-pid1025.log", "inspector/node1-pid1028.log"});
  const LogTable* reduce = find_table(in, "all_reduce", 2);
  REQUIRE(reduce);
  CHECK(reduce->tool == "inspector");
  CHECK(reduce->live);
  CHECK(reduce->nodes == 2);
  CHECK(reduce->nccl_version == "2.28.9");
  CHECK(reduce->iterations == 0);
  CHECK(reduce->rows.size() == 4);
  // Calls 0, 1, 8 and 9 of two communicators. In us, of both ranks: 2440/4534, 2435/4532, 27/28, 27/28 and 2427/4525,
  // 2429/4526, 498/85, 28/26.
  const LogRow* row = find_row(reduce, 8192);
  REQUIRE(row);
  CHECK(row->time_us == (85 + 2427) / 2.0);
  REQUIRE(row->spread);
  CHECK(row->spread->calls == 8);
  CHECK(row->spread->matched);
  CHECK(row->spread->skew_us == (413 + 2094) / 2.0);
  CHECK(row->spread->low_us == Approx(26 + 0.35 * (27 - 26)));
  CHECK(row->spread->high_us == Approx(2435 + 0.65 * (2440 - 2435)));
  // The share of one rank in the file is 4096 B; nccl-tests counts both. 5/2418, 675/465, 5/2414, 28/26.
  row = find_row(find_table(in, "all_gather", 2), 8192);
  REQUIRE(row);
  CHECK(row->time_us == (5 + 26) / 2.0);
  // 2413/5, 2/2411, 2411/4, 386/822.
  row = find_row(find_table(in, "reduce_scatter", 2), 8192);
  REQUIRE(row);
  CHECK(row->time_us == (4 + 5) / 2.0);
  // Rooted operations have no time.
  CHECK(find_table(in, "broadcast", 2) == nullptr);
  CHECK(has_problem(in, "40 records left out: a rank may leave a broadcast"));
  CHECK(in.job.records == 180);
  REQUIRE(in.job.communicators.size() == 2);
  CHECK(in.job.communicators[0].id == "0x226b4b23400b26");
  CHECK(in.job.communicators[0].seen == 2);
  CHECK(in.job.communicators[0].part == 0);
  CHECK(in.job.communicators[0].calls + in.job.communicators[1].calls == 90);
}

TEST_CASE("records of the profiler plugin are read as those of Inspector, with fractions", "[live]") {
  const Imported in =
      read_samples({"fabricast-profiler/node0-pid1200.jsonl", "fabricast-profiler/node1-pid1201.jsonl"});
  CHECK(in.job.records == 60);
  const LogTable* reduce = find_table(in, "all_reduce", 2);
  REQUIRE(reduce);
  CHECK(reduce->nodes == 2);
  CHECK(reduce->nccl_version.empty());
  // The shorter of 8175.296 and 9641.76, and of 2488.032 and 6961.152.
  REQUIRE(find_row(reduce, 16 << 20));
  CHECK(find_row(reduce, 16 << 20)->time_us == 8175.296);
  REQUIRE(find_row(reduce, 256 << 10));
  CHECK(find_row(reduce, 256 << 10)->time_us == 2488.032);
  // A share of 128 KiB of each rank: 37.216 and 2468.832.
  REQUIRE(find_row(find_table(in, "all_gather", 2), 256 << 10));
  CHECK(find_row(find_table(in, "all_gather", 2), 256 << 10)->time_us == 37.216);
}

TEST_CASE("the order of files does not matter", "[live]") {
  const Imported a = read_samples({"inspector/node0-pid1025.log", "inspector/node1-pid1028.log"});
  const Imported b = read_samples({"inspector/node1-pid1028.log", "inspector/node0-pid1025.log"});
  REQUIRE(a.tables.size() == b.tables.size());
  for (std::size_t t = 0; t < a.tables.size(); ++t) {
    REQUIRE(a.tables[t].rows.size() == b.tables[t].rows.size());
    for (std::size_t r = 0; r < a.tables[t].rows.size(); ++r)
      CHECK(a.tables[t].rows[r].time_us == b.tables[t].rows[r].time_us);
  }
}

TEST_CASE("one rank alone gives its lowest tenth, with a warning", "[live]") {
  const Imported in = read_samples({"inspector/node0-pid1025.log"});
  // The process has rank 0 of one communicator and rank 1 of the other: 26 ... 2440 us, lowest 27, 27, 28.
  const LogRow* row = find_row(find_table(in, "all_reduce", 2), 8192);
  REQUIRE(row);
  REQUIRE(row->spread);
  CHECK_FALSE(row->spread->matched);
  CHECK_FALSE(row->spread->skew_us);
  CHECK(row->time_us == Approx(27.0));
  CHECK(has_problem(in, "calls cannot be matched across all ranks"));
}

TEST_CASE("the Inspector of NCCL 2.30 names communicators and records sends", "[live]") {
  const Imported in = read_samples({"inspector-2.30/node0-pid1290.log"});
  REQUIRE(in.job.communicators.size() == 2);
  CHECK(in.job.communicators[0].name + in.job.communicators[1].name == "reversedworld");
  CHECK(find_table(in, "all_reduce", 2)->nccl_version == "2.30.7");
  CHECK(has_problem(in, "32 records left out: the times of sends and receives"));
}

TEST_CASE("lines that contradict themselves give no value", "[live]") {
  InspectorCall call;
  call.ranks = 1;
  const std::string good = inspector_line(call);
  const auto wrong = [&](auto change, const std::string& message) {
    InspectorCall c = call;
    change(c);
    const Imported in = read_lines(inspector_line(c));
    INFO(message);
    CHECK(in.tables.empty());
    CHECK(has_problem(in, message));
  };
  CHECK(read_lines(good).tables.size() == 1);
  wrong([](auto& c) { c.bandwidth = 10.5; }, "contradict each other");
  wrong([](auto& c) { c.rank = 1; }, "rank 1 of 1 ranks");
  wrong([](auto& c) { c.operation = "AllReuse"; }, "unknown collective 'AllReuse'");
  wrong([](auto& c) { c.timing = "sundial"; }, "unknown timing source");
  wrong([](auto& c) { c.timing = "collective_cpu"; }, "timed on the host");
  wrong([](auto& c) { c.time_us = 0; }, "the time is 0 us");
  wrong([](auto& c) { c.bytes = -1; }, "wrong type");
  wrong([](auto& c) { c.nodes = 7; }, "number of ranks is missing or impossible");
  const Imported cut = read_lines(good + good.substr(0, 200));
  REQUIRE(cut.problems.size() == 1);
  CHECK(cut.problems[0].file == "a.log");
  CHECK(cut.problems[0].line == 2);
  CHECK(cut.problems[0].message == "the record is cut off");
  CHECK(cut.tables.size() == 1);
}

TEST_CASE("times of host threads are tables of their own", "[live]") {
  InspectorCall call;
  call.ranks = 1;
  std::string lines = inspector_line(call);
  call.sequence = 1;
  call.timing = "kernel_cpu";
  call.time_us = 300;
  lines += inspector_line(call);
  const Imported in = read_lines(lines);
  REQUIRE(in.tables.size() == 2);
  CHECK(in.tables[0].details.empty());
  CHECK(in.tables[1].details.at("timing") == "host");
  CHECK(in.tables[1].rows[0].time_us == 300);
}

}  // namespace
}  // namespace fabricast
