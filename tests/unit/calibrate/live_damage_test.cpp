// Damaged telemetry: each recorded file cut off at many places and with bytes changed. Nothing crashes, what precedes
// the damage is kept, and where a format is redundant no changed value goes unnoticed.
#include <catch2/catch.hpp>

#include <random>

#include "support/telemetry.hpp"

namespace fabricast {
namespace {

const std::vector<std::string> samples = {
    "inspector/node0-pid1025.log",
    "inspector-2.30/node0-pid1290.log",
    "inspector-2.30/nccl_inspector_metrics_00000000-1111-2222-3333-444444444444.prom",
    "profiler-plugin/trace_node0_16929001635433873586_0.json",
    "flight-recorder/hang_rank_0",
    "flight-recorder/four_ranks_0.json",
    "kineto/rank0.json",
    "kineto/execution_trace_rank0.json",
    "ras/a.json"};

Imported read_text_as(LiveFormat format, const std::string& name, std::string text) {
  return import_job(format, {text_source(name, std::move(text))});
}

std::int64_t calls_in(const Imported& in) {
  std::int64_t calls = 0;
  for (const LogTable& t : in.tables)
    for (const LogRow& r : t.rows) {
      CHECK(r.bytes > 0);
      CHECK(std::isfinite(r.time_us));
      CHECK(r.time_us > 0);
      calls += r.spread->calls;
    }
  return calls;
}

bool same_rows(const Imported& a, const Imported& b) {
  if (a.tables.size() != b.tables.size()) return false;
  for (std::size_t t = 0; t < a.tables.size(); ++t) {
    const LogTable &x = a.tables[t], &y = b.tables[t];
    if (x.operation != y.operation || x.ranks != y.ranks || x.nodes != y.nodes || x.rows.size() != y.rows.size())
      return false;
    for (std::size_t r = 0; r < x.rows.size(); ++r)
      if (x.rows[r].bytes != y.rows[r].bytes || x.rows[r].time_us != y.rows[r].time_us) return false;
  }
  return true;
}

TEST_CASE("a file that is cut off keeps what it has, and says so", "[live]") {
  for (const std::string& file : samples) {
    const std::string text = telemetry_text(file);
    const LiveFormat format = *live_format_of(text);
    std::int64_t before = 0;
    constexpr std::size_t cuts = 40;
    for (std::size_t i = 1; i < cuts; ++i) {
      // Uneven steps, so that cuts fall into keys, numbers and brackets.
      const std::size_t size = text.size() * i / cuts + i % 7;
      const Imported in = read_text_as(format, file, text.substr(0, size));
      INFO(file << " cut at " << size);
      const std::int64_t calls = calls_in(in);
      CHECK(calls >= before);
      before = calls;
      const bool at_a_line = text[size - 1] == '\n' || text[size] == '\n';
      CHECK((at_a_line || !in.problems.empty()));
    }
    CHECK(calls_in(read_text_as(format, file, text)) >= before);
  }
}

TEST_CASE("changed bytes never crash a reader", "[live]") {
  std::mt19937 random(11);
  for (const std::string& file : samples) {
    const std::string text = telemetry_text(file);
    const LiveFormat format = *live_format_of(text);
    for (int i = 0; i < 60; ++i) {
      std::string bad = text;
      for (int k = 0; k < 1 + i % 5; ++k)
        bad[std::uniform_int_distribution<std::size_t>(0, bad.size() - 1)(random)] =
            static_cast<char>(std::uniform_int_distribution<>(0, 255)(random));
      INFO(file << ", change " << i);
      calls_in(read_text_as(format, file, bad));
    }
  }
}

TEST_CASE("no changed byte of the Inspector gives another value without a warning", "[live]") {
  const std::string one = telemetry_text("inspector/node0-pid1025.log");
  const std::string text = one.substr(0, one.find('\n', 12'000) + 1);
  const Imported whole = read_text_as(LiveFormat::inspector, "a", text);
  // Alone, a rank's values are not matched; the warning about that is always there.
  const std::size_t usual = whole.problems.size();
  std::mt19937 random(13);
  int noticed = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string bad = text;
    char& byte = bad[std::uniform_int_distribution<std::size_t>(0, bad.size() - 1)(random)];
    const char digits[] = "0123456789";
    const char to = i % 2 == 0 ? digits[i / 2 % 10] : static_cast<char>(32 + i % 95);
    if (byte == to) continue;
    const char from = byte;
    byte = to;
    const Imported in = read_text_as(LiveFormat::inspector, "a", bad);
    noticed += in.problems.size() > usual ? 1 : 0;
    INFO("byte " << &byte - bad.data() << " from " << from << " to " << to);
    CHECK((same_rows(in, whole) || in.problems.size() > usual || in.job.communicators.size() != 2 ||
           in.job.records < whole.job.records));
  }
  CHECK(noticed > 300);
}

TEST_CASE("other encodings and binary files are no telemetry", "[live]") {
  const std::string text = telemetry_text("inspector/node0-pid1025.log");
  std::string wide = "\xff\xfe";
  for (const char c : text.substr(0, 4000)) wide += std::string(1, c) + '\0';
  CHECK_FALSE(live_format_of(wide));
  std::string noise(100'000, '\0');
  std::mt19937 random(5);
  for (char& c : noise) c = static_cast<char>(random());
  CHECK_FALSE(live_format_of(noise));
  // As any format, noise gives nothing but problems.
  for (int f = 0; f < 7; ++f) {
    const Imported in = read_text_as(static_cast<LiveFormat>(f), "noise", noise);
    CHECK(in.tables.empty());
  }
  const Imported in = read_text_as(LiveFormat::inspector, "a", wide);
  CHECK(in.tables.empty());
  CHECK(!in.problems.empty());
}

TEST_CASE("a job may have far too many communicators, sizes and problems", "[live]") {
  std::string lines;
  for (int i = 0; i < 12'000; ++i) {
    InspectorCall c;
    c.id = fmt::format("0x{:x}", i);
    c.bytes = 8 * (i + 1);
    lines += inspector_line(c) + "{\"coll_perf\":\n";
  }
  const Imported in = read_text_as(LiveFormat::inspector, "a", lines);
  CHECK(in.job.communicators.size() == 10'000);
  CHECK(in.job.communicators_left_out == 2'000);
  CHECK(calls_in(in) == 10'000);
  CHECK(in.problems.size() <= 1000);
  CHECK(in.problems_left_out > 10'000);
}

}  // namespace
}  // namespace fabricast
