// Made-up jobs whose times, arrivals and faults are known: does matching over ranks find them?
#include <catch2/catch.hpp>

#include <random>

#include "support/telemetry.hpp"

namespace fabricast {
namespace {

/// A job of ranks that each write a file. Of each call, rank r records what the call takes after the last rank joined,
/// and its own waiting before.
struct MadeUpJob {
  int ranks = 16, nodes = 2;
  std::string operation = "AllReduce";
  std::int64_t bytes = 1 << 20;
  std::vector<std::string> files = std::vector<std::string>(16);
  std::mt19937 random{7};
  std::int64_t sequence = 0;

  /// \param arrivals  of the ranks, in us
  void call(std::int64_t time_us, const std::vector<std::int64_t>& arrivals) {
    const std::int64_t last = *std::max_element(arrivals.begin(), arrivals.end());
    for (int r = 0; r < ranks; ++r) {
      InspectorCall c;
      c.rank = r;
      c.ranks = ranks;
      c.nodes = nodes;
      c.operation = operation;
      c.sequence = sequence;
      c.bytes = bytes;
      c.time_us = time_us + last - arrivals[static_cast<std::size_t>(r)];
      // Clocks of hosts are up to seconds apart.
      c.when += sequence * 1000 + last + r % nodes * 3'000'000;
      files[static_cast<std::size_t>(r)] += inspector_line(c);
    }
    ++sequence;
  }

  std::vector<std::int64_t> jitter(int most) {
    std::vector<std::int64_t> arrivals(static_cast<std::size_t>(ranks));
    for (auto& a : arrivals) a = std::uniform_int_distribution<>(0, most)(random);
    return arrivals;
  }

  Imported read() const {
    std::vector<LiveSource> sources;
    for (std::size_t r = 0; r < files.size(); ++r) sources.push_back(text_source(fmt::format("rank{}", r), files[r]));
    return import_job(LiveFormat::inspector, sources);
  }
};

TEST_CASE("the shortest time over ranks is that of the call", "[live]") {
  MadeUpJob job;
  std::vector<double> times;
  for (int i = 0; i < 101; ++i) {
    const int time = std::uniform_int_distribution<>(200, 300)(job.random);
    times.push_back(time);
    job.call(time, job.jitter(5000));
  }
  std::sort(times.begin(), times.end());
  const Imported in = job.read();
  const LogRow* row = find_row(find_table(in, "all_reduce", 16), 1 << 20);
  REQUIRE(row);
  CHECK(row->time_us == times[50]);
  CHECK(row->spread->calls == 101);
  CHECK(row->spread->low_us == times[5]);
  CHECK(row->spread->high_us == times[95]);
  CHECK(*row->spread->skew_us > 4000);
  CHECK(in.problems.empty());
  CHECK(in.job.communicators.at(0).behind.empty());
}

TEST_CASE("a rank that others wait for is named, and the time stays that of the call", "[live]") {
  for (const std::vector<int>& late : {std::vector<int>{3}, std::vector<int>{0, 1, 2, 3, 4, 5, 6}}) {
    MadeUpJob job;
    for (int i = 0; i < 60; ++i) {
      auto arrivals = job.jitter(20);
      // In three of four calls.
      if (i % 4 != 0)
        for (const int r : late) arrivals[static_cast<std::size_t>(r)] += 2000;
      job.call(250, arrivals);
    }
    const Imported in = job.read();
    CHECK(find_row(find_table(in, "all_reduce", 16), 1 << 20)->time_us == 250);
    std::vector<int> named;
    for (const BehindRank& b : in.job.communicators.at(0).behind) {
      CHECK(b.what == "late");
      CHECK(b.certain);
      named.push_back(b.rank);
    }
    CHECK(named == late);
    CHECK(in.job.communicators[0].behind[0].place == fmt::format("node{}, process {}", late[0] / 8, 1000 + late[0]));
  }
}

TEST_CASE("calls that one rank did not record are left out and counted", "[live]") {
  MadeUpJob job;
  for (int i = 0; i < 20; ++i) job.call(i < 10 ? 100 : 500, job.jitter(50));
  // Rank 5 loses its second half: calls of 500 us cannot be matched.
  std::string& file = job.files[5];
  for (int lines = 0; lines < 10; ++lines) file.resize(file.rfind('\n', file.size() - 2) + 1);
  const Imported in = job.read();
  const LogRow* row = find_row(find_table(in, "all_reduce", 16), 1 << 20);
  REQUIRE(row);
  CHECK(row->time_us == 100);
  CHECK(row->spread->calls == 10);
  CHECK(in.job.communicators.at(0).part == 10);
  CHECK(has_problem(in, "10 of 20 calls are not recorded by all ranks"));
}

TEST_CASE("ranks that disagree about a call are told", "[live]") {
  MadeUpJob job;
  job.call(100, job.jitter(50));
  InspectorCall other;
  other.rank = 0;
  other.ranks = 16;
  other.nodes = 2;
  other.sequence = 1;
  for (int r = 0; r < 16; ++r) {
    other.rank = r;
    other.bytes = r == 9 ? 4096 : 8192;
    job.files[static_cast<std::size_t>(r)] += inspector_line(other);
  }
  const Imported in = job.read();
  CHECK(has_problem(in, "rank 9 has all_reduce of 4096 B, another rank all_reduce of 8192 B"));
  CHECK(has_problem(in, "record left out: ranks record different collectives or sizes for one call"));
  // Neither size has a matched call.
  const LogTable* table = find_table(in, "all_reduce", 16);
  CHECK(find_row(table, 1 << 20)->spread->matched);
  CHECK_FALSE(find_row(table, 8192)->spread->matched);
}

TEST_CASE("a record that comes twice counts once", "[live]") {
  MadeUpJob job;
  for (int i = 0; i < 3; ++i) job.call(100, job.jitter(0));
  InspectorCall again;
  again.rank = 2;
  again.ranks = 16;
  again.nodes = 2;
  again.time_us = 7;
  // While the call is open, a repeat is found.
  job.files[2] = inspector_line(again) + job.files[2];
  const Imported in = job.read();
  CHECK(has_problem(in, "rank 2 records call 0 of 0xa1 again: ignored"));
}

TEST_CASE("communicators of one shape are one table, of other shapes others", "[live]") {
  MadeUpJob small;
  small.ranks = 4;
  small.nodes = 1;
  small.files.resize(4);
  for (int i = 0; i < 5; ++i) small.call(50, small.jitter(10));
  std::string lines;
  for (const std::string& file : small.files) lines += file;
  InspectorCall other;
  other.id = "0xb2";
  for (int r = 0; r < 4; ++r) {
    other.rank = r;
    lines += inspector_line(other);
  }
  other.id = "0xc3";
  other.ranks = 2;
  other.nodes = 2;
  for (int r = 0; r < 2; ++r) {
    other.rank = r;
    lines += inspector_line(other);
  }
  const Imported in = import_job(LiveFormat::inspector, {text_source("a.log", lines)});
  REQUIRE(in.tables.size() == 2);
  CHECK(find_table(in, "all_reduce", 4)->rows[0].spread->calls == 6);
  CHECK(find_table(in, "all_reduce", 2)->nodes == 2);
}

}  // namespace
}  // namespace fabricast
