// Long telemetry: memory that does not grow with the files, and time.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <cstdlib>
#include <ctime>

#include "support/telemetry.hpp"

namespace fabricast {
namespace {

/// A file of lines that are made as they are read. Lines have one length, so any place is found.
LiveSource endless(int rank, int ranks, std::int64_t lines) {
  const auto line = [rank, ranks](std::int64_t n) {
    InspectorCall c;
    c.rank = rank;
    c.ranks = ranks;
    c.sequence = 100'000'000 + n;
    c.bytes = std::int64_t{1} << (20 + n % 4);
    c.time_us = 1000 + (n * 7919 + rank * 104'729) % 9000;
    c.when += n * 10'000 + rank;
    // A million bytes and more in 1000 us and more: digits of the bandwidth vary, so the line is filled up.
    std::string text = inspector_line(c);
    text.insert(text.size() - 1, 480 - text.size(), ' ');
    return text;
  };
  constexpr std::uint64_t length = 480;
  const std::uint64_t size = static_cast<std::uint64_t>(lines) * length;
  return {fmt::format("rank{}", rank), [=](std::uint64_t offset, char* to, std::size_t most) {
            std::size_t done = 0;
            while (done < most && offset + done < size) {
              const std::string text = line(static_cast<std::int64_t>((offset + done) / length));
              const std::size_t from = (offset + done) % length;
              const std::size_t count = std::min(most - done, text.size() - from);
              text.copy(to + done, count, from);
              done += count;
            }
            return done;
          }};
}

long peak_of_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

Imported read_endless(std::int64_t megabytes) {
  constexpr int ranks = 4;
  const std::int64_t lines = megabytes * 1'000'000 / 480 / ranks;
  std::vector<LiveSource> sources;
  for (int r = 0; r < ranks; ++r) sources.push_back(endless(r, ranks, lines));
  const Imported in = import_job(LiveFormat::inspector, sources);
  REQUIRE(in.tables.size() == 1);
  CHECK(in.job.communicators.at(0).calls == lines);
  CHECK(in.tables[0].rows.size() == 4);
  CHECK(in.problems.empty());
  return in;
}

TEST_CASE("long files take the memory of short ones", "[live]") {
  read_endless(2);
  const long before = peak_of_process();
  // The nightly suite reads 200 MB.
  const char* nightly = std::getenv("FABRICAST_LIVE_MEGABYTES");
  read_endless(nightly ? std::atoll(nightly) : 20);
#ifdef FABRICAST_TEST_SPEED  // sanitizers keep what was freed
  CHECK(peak_of_process() - before < 4'000);
#else
  CHECK(before > 0);
#endif
}

TEST_CASE("a Kineto trace of any length is read in pieces", "[live]") {
  const std::string head =
      "{\"schemaVersion\": 1, \"deviceProperties\": [], \"distributedInfo\": {\"rank\": 0},\n\"traceEvents\": [\n";
  const std::string other =
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 1, \"ts\": 1.5, \"dur\": 1.0,"
      " \"args\": {\"Input Dims\": [[1, 2], [2, 3]], \"note\": \"a \\\"quoted\\\" {bracket\"}},\n";
  const std::uint64_t count = 20'000'000 / other.size(), size = head.size() + count * other.size();
  const std::string tail =
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"ts\": 5, \"dur\": 7, \"args\": "
      "{\"Collective name\": \"allreduce\", \"In msg nelems\": 1024, \"Out msg nelems\": 1024, \"Group size\": 1, "
      "\"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0]\"}}]}\n";
  const LiveSource source{
      "trace.json", [&](std::uint64_t offset, char* to, std::size_t most) {
        std::size_t done = 0;
        while (done < most && offset + done < size + tail.size()) {
          const std::uint64_t at = offset + done;
          const std::string& text = at < head.size() ? head : at < size ? other : tail;
          const std::uint64_t from = at < head.size() ? at : at < size ? (at - head.size()) % other.size() : at - size;
          const std::size_t part = std::min<std::size_t>(most - done, text.size() - from);
          text.copy(to + done, part, from);
          done += part;
        }
        return done;
      }};
  const long before = peak_of_process();
  const Imported in = import_job(LiveFormat::kineto, {source});
  CHECK(find_row(find_table(in, "all_reduce", 1), 4096)->time_us == 7);
  CHECK(in.problems.empty());
#ifdef FABRICAST_TEST_SPEED
  CHECK(peak_of_process() - before < 4'000);
#else
  CHECK(before > 0);
#endif
}

#ifdef FABRICAST_TEST_SPEED
TEST_CASE("the Inspector's lines are read at 100 MB/s", "[live]") {
  // Recorded lines, with the trace of events, and numbers that do not repeat.
  const std::string recorded = telemetry_text("inspector/node0-pid1025.log");
  const std::string key = "\"coll_sn\":";
  std::string text;
  for (int number = 0; text.size() < 20'000'000;)
    for (std::size_t at = 0; at < recorded.size(); ++number) {
      const std::size_t end = recorded.find('\n', at) + 1, from = recorded.find(key, at) + key.size();
      text += recorded.substr(at, from - at) + std::to_string(number) +
              recorded.substr(recorded.find(',', from), end - recorded.find(',', from));
      at = end;
    }
  const LiveSource source = text_source("a", text);
  const std::clock_t begin = std::clock();
  import_job(LiveFormat::inspector, {source});
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  INFO(static_cast<double>(text.size()) * 1e-6 / seconds << " MB/s");
  // Twice as long as on an idle machine, since tests run side by side.
  CHECK(seconds < 0.4);
}
#endif

}  // namespace
}  // namespace fabricast
