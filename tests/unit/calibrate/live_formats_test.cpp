// The other formats of telemetry, with the recorded files.
#include <catch2/catch.hpp>

#include "../../../calibrate/live/distribution.hpp"
#include "../../../calibrate/live/job_reader.hpp"
#include "../../../calibrate/live/late.hpp"
#include "support/telemetry.hpp"

namespace fabricast {
namespace {

TEST_CASE("formats are recognised by content", "[live]") {
  const auto format = [](const char* file) { return live_format_of(telemetry_text(file)); };
  CHECK(format("inspector/node0-pid1025.log") == LiveFormat::inspector);
  CHECK(format("inspector-2.30/node0-pid1290.log") == LiveFormat::inspector);
  CHECK(format("inspector-2.30/nccl_inspector_metrics_00000000-1111-2222-3333-444444444444.prom") ==
        LiveFormat::prometheus);
  CHECK(format("profiler-plugin/trace_node0_16929001635433873586_0.json") == LiveFormat::profiler);
  CHECK(format("flight-recorder/hang_rank_0") == LiveFormat::flight_recorder);
  CHECK(format("flight-recorder/active_rank_0.json") == LiveFormat::flight_recorder);
  CHECK(format("kineto/rank0.json") == LiveFormat::kineto);
  CHECK(format("kineto/execution_trace_rank0.json") == LiveFormat::chakra);
  CHECK(format("ras/a.json") == LiveFormat::ras);
  for (const char* other : {"nccl-tests/one-gpu-all_reduce.json", "nccl-tests/one-gpu-all_reduce.txt",
                            "nccl-log/four-ranks.rank0.log", "nccl-log/topology.xml", "README.md"}) {
    INFO(other);
    CHECK_FALSE(format(other));
  }
  CHECK_FALSE(live_format_of(""));
}

TEST_CASE("kernels of torch.profiler are matched by their order in a group", "[live]") {
  const Imported in = read_samples({"kineto/rank0.json", "kineto/rank1.json"});
  // Group 1 has the ranks 0 and 1, whose files are here.
  const LogTable* reduce = find_table(in, "all_reduce", 2);
  REQUIRE(reduce);
  CHECK(reduce->tool == "kineto");
  CHECK(reduce->gpu == "NVIDIA H100 80GB HBM3");
  CHECK(reduce->nccl_version == "2.28.9");
  const LogRow* row = find_row(reduce, 262144);
  REQUIRE(row);
  CHECK(row->spread->matched);
  CHECK(row->time_us == Approx((8942.117 + 8947.973) / 2));
  CHECK(*row->spread->skew_us == Approx(((8980.549 - 8942.117) + (8977.637 - 8947.973)) / 2));
  // In 32768, out 65536 floats.
  row = find_row(find_table(in, "all_gather", 2), 262144);
  REQUIRE(row);
  CHECK(row->time_us == Approx((143.747 + 68.577) / 2));
  row = find_row(find_table(in, "alltoall", 2), 16384);
  REQUIRE(row);
  CHECK(row->time_us == Approx(12.577));
  // Groups 3 and 4, of ranks 0 and 2, and 1 and 3: one file each.
  const LogTable* scattered = find_table(in, "all_reduce", 2, true);
  REQUIRE(scattered);
  CHECK_FALSE(find_row(scattered, 1050624)->spread->matched);
  // The group of all four has two of its files here.
  CHECK_FALSE(find_row(find_table(in, "all_reduce", 4), 262144)->spread->matched);
  CHECK(has_problem(in, "'barrier' is not one collective"));
}

std::string kernel(int n, double ts, double dur, const char* more = "") {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": {}, "dur": {}, "args": {{"device": {},)"
      R"("Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2, "dtype":)"
      R"( "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"{}}}}})",
      ts, dur, n, more);
}
std::string profile(int rank, const std::string& events) {
  return fmt::format(
      "{{\"schemaVersion\": 1, \"deviceProperties\": [], \"distributedInfo\": {{\"rank\": {}}},\n"
      "\"traceEvents\": [\n{}\n]}}",
      rank, events);
}

TEST_CASE("profiles that do not hold the same calls are not matched", "[live]") {
  const std::string first = profile(0, kernel(0, 1000, 50) + "," + kernel(0, 2000, 60));
  const auto read = [&](const std::string& second) {
    return import_job(LiveFormat::kineto, {text_source("a.json", first), text_source("b.json", second)});
  };
  const Imported same = read(profile(1, kernel(1, 1000, 70) + "," + kernel(1, 2000, 40)));
  CHECK(find_table(same, "all_reduce", 2)->rows[0].spread->matched);
  CHECK(find_table(same, "all_reduce", 2)->rows[0].time_us == 45);
  const Imported shifted = read(profile(1, kernel(1, 2000, 40)));
  CHECK_FALSE(find_table(shifted, "all_reduce", 2)->rows[0].spread->matched);
  const Imported mixed = read(profile(1, kernel(1, 2000, 40) + "," + kernel(1, 1000, 70)));
  CHECK_FALSE(find_table(mixed, "all_reduce", 2)->rows[0].spread->matched);
  CHECK(has_problem(mixed, "a kernel began before the one that precedes it"));
}

TEST_CASE("damage in JSON has line and column, and what is around it is kept", "[live]") {
  const std::string whole = profile(0, kernel(0, 1000, 50) + ",\n" + kernel(0, 2000, 60));
  std::string bad = profile(0, kernel(0, 1000, 50) + ",\n{\"Collective name\": nccl}\n,\n" + kernel(0, 2000, 60));
  const Imported in = import_job(LiveFormat::kineto, {text_source("a.json", bad)});
  REQUIRE(!in.problems.empty());
  const auto at = std::find_if(in.problems.begin(), in.problems.end(), [](const Problem& p) { return p.line > 0; });
  REQUIRE(at != in.problems.end());
  CHECK(at->file == "a.json");
  CHECK(at->line == 4);
  CHECK(at->column == 1);
  CHECK(at->message == "malformed event");
  CHECK(find_table(in, "all_reduce", 2)->rows[0].spread->calls == 2);
  const Imported cut = import_job(LiveFormat::kineto, {text_source("a.json", whole.substr(0, whole.size() - 40))});
  CHECK(find_table(cut, "all_reduce", 2)->rows[0].spread->calls == 1);
  CHECK(has_problem(cut, "the item that begins here has no end"));
}

TEST_CASE("RAS tells states and counts, and no times", "[live]") {
  const Imported in = read_samples({"ras/a.json"});
  CHECK(in.tables.empty());
  CHECK_FALSE(in.empty());
  CHECK(in.job.tool == "ras");
  REQUIRE(in.job.communicators.size() == 3);
  CHECK(in.job.communicators[0].ranks == 2);
  CHECK(in.job.communicators[0].seen == 2);
  CHECK(in.job.communicators[0].behind.empty());
  const JobCommunicator& uneven = in.job.communicators[2];
  CHECK(uneven.id.starts_with("0xe36577b654be0acb"));
  REQUIRE(uneven.behind.size() == 1);
  CHECK(uneven.behind[0].rank == 1);
  CHECK(uneven.behind[0].place == "127.0.0.1, process 1024, GPU 0");
  CHECK(uneven.behind[0].detail == "has launched 0 of 1 AllGather calls; has launched 1 of 2 AllReduce calls");
  // A moment later it may have.
  CHECK_FALSE(uneven.behind[0].certain);
}

TEST_CASE("RAS: ranks that are missing or in error", "[live]") {
  const std::string text =
      R"({"nccl_version": "2.28.9", "communicators_count": 1, "communicators": [{"hash": "0x1", "size": 3,
 "ranks": [{"rank": 0, "host": "a", "pid": 1, "cuda_dev": 0, "status": {"init_state": 0, "async_error": 6},
  "collective_counts": {"AllReduce": 5}}],
 "missing_ranks": [{"rank": 1, "host": "b", "pid": 2, "cuda_dev": 3,
  "status": {"unresponsive": true, "considered_dead": false}},
  {"rank": 2, "host": "b", "pid": 3, "cuda_dev": 4, "status": {"unresponsive": true, "considered_dead": true}}]}]})";
  const Imported in = import_job(LiveFormat::ras, {text_source("ras.json", text)});
  REQUIRE(in.job.communicators.size() == 1);
  const auto& behind = in.job.communicators[0].behind;
  REQUIRE(behind.size() == 3);
  CHECK(behind[0].what == "error");
  CHECK(behind[0].detail == "asynchronous error, ncclResult 6");
  CHECK(behind[1].what == "missing");
  CHECK(behind[1].detail == "its process does not answer");
  CHECK(behind[2].place == "b, process 3, GPU 4");
  CHECK(behind[2].detail == "RAS considers it dead");
  CHECK(any_at_fault(in.job.communicators));
}

TEST_CASE("the Prometheus file gives means and ranges of sizes", "[live]") {
  const Imported in = read_samples({"inspector-2.30/nccl_inspector_metrics_00000000-1111-2222-3333-444444444444.prom"});
  const LogTable* gather = find_table(in, "all_gather", 2);
  REQUIRE(gather);
  CHECK(gather->tool == "prometheus");
  CHECK(gather->nodes == 2);
  // 4-5KB are the share of one of two ranks.
  const LogRow* row = find_row(gather, 8192);
  REQUIRE(row);
  CHECK(row->spread->bytes_below == 10240);
  CHECK_FALSE(row->spread->matched);
  CHECK(has_problem(in, "64 records left out: the times of sends and receives") == false);
  CHECK(has_problem(in, "32 records left out: the times of sends and receives"));
}

TEST_CASE("labels of Prometheus may hold anything", "[live]") {
  const std::string line =
      R"(nccl_collective_exec_time_microseconds{node="n\"},x",gpu="GPU0",comm_name="a,b}",n_nodes="1",nranks="8",)"
      R"(collective="AllReduce",message_size="64-65KB"} 12.5 1700000000)"
      "\n";
  const Imported in = import_job(LiveFormat::prometheus, {text_source("a.prom", line)});
  REQUIRE(in.tables.size() == 1);
  CHECK(in.tables[0].rows[0].bytes == 65536);
  CHECK(in.tables[0].rows[0].time_us == 12.5);
  CHECK(in.job.communicators[0].name == "a,b}");
  for (const char* size : {"64-66KB", "0-1KB", "KB", "64-65", "-64--63KB", "99999999-100000000TB"}) {
    std::string bad = line;
    bad.replace(bad.find("64-65KB"), 7, size);
    INFO(size);
    CHECK(import_job(LiveFormat::prometheus, {text_source("a.prom", bad)}).tables.empty());
  }
}

TEST_CASE("the profiler plugin's events give the span of a kernel over its channels", "[live]") {
  const Imported in = read_samples({"profiler-plugin/trace_node0_16929001635433873586_0.json"});
  const LogTable* reduce = find_table(in, "all_reduce", 0);
  REQUIRE(reduce);
  // 2048 floats take 4526.368 us, 4096 numbers of bfloat16 4530.432 us.
  const LogRow* row = find_row(reduce, 8192);
  REQUIRE(row);
  CHECK(row->time_us == Approx(4526.368 + 0.1 * (4530.432 - 4526.368)));
  // The file of one rank does not tell how many there are, so the share of an all_gather says nothing.
  CHECK(find_table(in, "all_gather", 0) == nullptr);
  CHECK(has_problem(in, "the number of ranks is not known"));
}

TEST_CASE("files of the profiler plugin from all ranks are matched", "[live]") {
  const std::string zero = telemetry_text("profiler-plugin/trace_node0_16929001635433873586_0.json");
  std::string one = zero;
  for (std::size_t at = 0; (at = one.find("\"Rank\": 0", at)) != std::string::npos;) one.replace(at, 9, "\"Rank\": 1");
  const Imported in = import_job(LiveFormat::profiler, {text_source("t_0.json", zero), text_source("t_1.json", one)});
  const LogRow* row = find_row(find_table(in, "all_reduce", 2), 8192);
  REQUIRE(row);
  CHECK(row->spread->matched);
  CHECK(row->time_us == Approx((4526.368 + 4530.432) / 2));
  CHECK(*row->spread->skew_us == 0);
  CHECK(find_table(in, "all_gather", 2) != nullptr);
  CHECK(has_problem(in, "2 is assumed"));
}

TEST_CASE("ranks of file names", "[live]") {
  CHECK(live::rank_of_name("dump/hang_rank_12") == 12);
  CHECK(live::rank_of_name("rank3.json") == 3);
  CHECK(live::rank_of_name("nccl_trace_rank_7.pickle") == 7);
  CHECK_FALSE(live::rank_of_name("dump.json"));
  CHECK_FALSE(live::rank_of_name("x99999999999"));
}

TEST_CASE("binomial tails, and ranks that are late by more than chance", "[live]") {
  // 10 coins: 11 of 1,024 outcomes have 9 heads or more.
  CHECK(live::binomial_tail(10, 9, 0.5) == Approx(11.0 / 1024));
  CHECK(live::binomial_tail(10, 0, 0.3) == 1);
  CHECK(live::binomial_tail(3, 3, 0.1) == Approx(1e-3));
  // Mean 500, deviation 15.8: half of the outcomes, and next to none.
  CHECK(live::binomial_tail(1000, 500, 0.5) == Approx(0.5126).epsilon(1e-3));
  CHECK(live::binomial_tail(1000, 700, 0.5) < 1e-30);
  CHECK(live::later_than_chance(8, 8, 0));
  CHECK_FALSE(live::later_than_chance(7, 7, 0));
  // Two ranks: one of them is always later.
  CHECK_FALSE(live::later_than_chance(20, 20, 0.5));
  CHECK(live::later_than_chance(40, 40, 0.5));
  CHECK_FALSE(live::later_than_chance(1000, 500, 0.1));
}

TEST_CASE("quantiles are exact for few values, and to 0.2 % for many", "[live]") {
  live::Distribution few;
  for (const double v : {5.0, 1.0, 3.0, 2.0}) few.add(v);
  CHECK(few.quantile(0) == 1);
  CHECK(few.quantile(0.5) == 2.5);
  CHECK(few.quantile(1) == 5);
  live::Distribution many;
  for (int i = 0; i < 100'000; ++i) many.add(1 + (i * 7919) % 100'000);
  CHECK(many.count() == 100'000);
  for (const double q : {0.05, 0.5, 0.95}) CHECK(many.quantile(q) == Approx(1e5 * q).epsilon(0.002));
}

}  // namespace
}  // namespace fabricast
