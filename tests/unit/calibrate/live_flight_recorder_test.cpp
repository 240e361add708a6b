// PyTorch's flight recorder: dumps of a hang, pickles as data, and hostile pickles.
#include <catch2/catch.hpp>

#include "../../../calibrate/live/pickle.hpp"
#include "support/telemetry.hpp"

namespace fabricast {
namespace {

using live::PickleValue;

TEST_CASE("dumps of a hang name the rank that did not join, and give times of what completed", "[live]") {
  const Imported in = read_samples({"flight-recorder/hang_rank_0", "flight-recorder/hang_rank_1"});
  std::vector<const JobCommunicator*> behind;
  for (const JobCommunicator& c : in.job.communicators)
    if (!c.behind.empty()) behind.push_back(&c);
  REQUIRE(behind.size() == 1);
  CHECK(behind[0]->name == "hang");
  REQUIRE(behind[0]->behind.size() == 1);
  const BehindRank& rank = behind[0]->behind[0];
  CHECK(rank.rank == 1);
  CHECK(rank.what == "waited_for");
  CHECK(rank.certain);
  CHECK(rank.detail == "has launched 1 call, others 3; a call there has waited 4.1 s, its timeout");
  // By Python's own pickle: medians over calls of the shorter of two durations, and of the differences.
  struct Expected {
    const char* operation;
    std::int64_t bytes, calls;
    double time_us, skew_us;
  };
  for (const Expected& e : {Expected{"all_reduce", 262144, 14, 4516.080141067505, 45.03989219665527},
                            Expected{"all_reduce", 3151872, 1, 2716.671943664551, 4743.264198303223},
                            Expected{"all_gather", 1048576, 12, 129.37599420547485, 4319.984138011932},
                            Expected{"all_gather", 16, 1, 13.504000380635262, 7029.664067551494},
                            Expected{"reduce_scatter", 4194304, 12, 529.1520059108734, 3349.5680391788483},
                            Expected{"alltoall", 16384, 12, 15.520000364631414, 4452.1599086001515}}) {
    INFO(e.operation << " " << e.bytes);
    const LogTable* table = find_table(in, e.operation, 2);
    REQUIRE(table);
    CHECK(table->nccl_version == "2.28.9");
    CHECK(table->nodes == 0);
    const LogRow* row = find_row(table, e.bytes);
    REQUIRE(row);
    CHECK(row->spread->matched);
    CHECK(row->spread->calls == e.calls);
    CHECK(row->time_us == Approx(e.time_us).epsilon(1e-6));
    CHECK(*row->spread->skew_us == Approx(e.skew_us).epsilon(1e-6));
  }
}

TEST_CASE("a dump of one of four ranks as JSON", "[live]") {
  const Imported in = read_samples({"flight-recorder/four_ranks_0.json"});
  // 65536 floats on the group of all: 18.142, 27.101, 36.610 and 39.460 ms.
  const LogRow* row = find_row(find_table(in, "all_reduce", 4), 262144);
  REQUIRE(row);
  CHECK_FALSE(row->spread->matched);
  CHECK(row->spread->calls == 4);
  CHECK(row->time_us == Approx(18142.36831665039 + 0.3 * (27101.215362548828 - 18142.36831665039)));
  // Group 3 holds the global ranks 0 and 2.
  CHECK(find_table(in, "all_reduce", 2, true) != nullptr);
  CHECK(find_table(in, "all_reduce", 2, false) != nullptr);
}

TEST_CASE("calls without a duration give no time", "[live]") {
  const Imported in = read_samples({"flight-recorder/active_rank_0.json", "flight-recorder/active_rank_1.json"});
  CHECK(in.tables.empty());
}

TEST_CASE("a pickle that is cut off keeps the entries before", "[live]") {
  const std::string zero = telemetry_text("flight-recorder/hang_rank_0"),
                    one = telemetry_text("flight-recorder/hang_rank_1");
  const Imported whole = read_samples({"flight-recorder/hang_rank_0", "flight-recorder/hang_rank_1"});
  const Imported in =
      import_job(LiveFormat::flight_recorder,
                 {text_source("hang_rank_0", zero.substr(0, zero.size() / 2)), text_source("hang_rank_1", one)});
  CHECK(has_problem(in, "the pickle is cut off"));
  const LogRow *all = find_row(find_table(whole, "all_reduce", 2), 262144),
               *part = find_row(find_table(in, "all_reduce", 2), 262144);
  REQUIRE(part);
  CHECK(part->spread->matched);
  CHECK(part->spread->calls > 0);
  CHECK(part->spread->calls <= all->spread->calls);
}

live::PickleResult pickle_of(const std::string& bytes) {
  static std::string kept;
  kept = bytes;
  return live::read_pickle(kept);
}

TEST_CASE("pickles are data", "[live]") {
  using namespace std::string_literals;
  // {'a': [1, -2, 2.5, None, True], 'b': ('x',)}, protocol 2 as Python writes it.
  const auto two = pickle_of("\x80\x02}q\x00(X\x01\x00\x00\x00"s +
                             "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffG@\x04\x00\x00\x00\x00\x00\x00N\x88"s +
                             "eX\x01\x00\x00\x00"s + "bq\x03X\x01\x00\x00\x00"s + "xq\x04\x85q\x05u."s);
  REQUIRE(two.pickle);
  const PickleValue* list = two.pickle->find(two.pickle->top(), "a");
  REQUIRE(list);
  REQUIRE(list->items.size() == 5);
  CHECK(two.pickle->at(list->items[1]).integer == -2);
  CHECK(two.pickle->at(list->items[2]).real == 2.5);
  CHECK(two.pickle->at(list->items[3]).kind == PickleValue::Kind::none);
  CHECK(two.pickle->at(list->items[4]).kind == PickleValue::Kind::boolean);
  // The same, protocol 4.
  const auto four = pickle_of("\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"s + "a\x94]\x94(K\x01K\x02" +
                              "e\x8c\x01" + "b\x94\x8c\x01x\x94\x85\x94u."s);
  REQUIRE(four.pickle);
  CHECK(four.pickle->find(four.pickle->top(), "b")->items.size() == 1);
  // LONG1 of 5 bytes: 2^32 + 1; of one byte: -1.
  const auto longs = pickle_of(
      "\x80\x02]\x8a\x05\x01\x00\x00\x00\x01\x61\x8a\x01\xff"
      "a."s);
  REQUIRE(longs.pickle);
  CHECK(longs.pickle->at(longs.pickle->top().items[0]).integer == 4294967297);
  CHECK(longs.pickle->at(longs.pickle->top().items[1]).integer == -1);
}

TEST_CASE("pickles that call code, or are endless, are refused", "[live]") {
  using namespace std::string_literals;
  // os.system("true") as pickles are known to call it.
  const auto call = pickle_of(
      "\x80\x02"
      "cos\nsystem\n(X\x04\x00\x00\x00truetR."s);
  CHECK_FALSE(call.pickle);
  CHECK(call.error.find("opcode 0x63") != std::string::npos);
  CHECK(call.offset == 2);
  for (const std::string& bytes :
       {"\x80\x02"s, "\x80\x02."s, "\x80\x02]a."s, "\x80\x02(e."s, "\x80\x02h\x07."s, "\x80\x02X\xff\xff\xff\x7f."s,
        "\x80\x02K\x01K\x02"
        "a."s,
        "\x80\x02]e."s, ""s})
    CHECK_FALSE(pickle_of(bytes).pickle);
  // A value that refers to itself ends reading, and is followed no deeper than a dump is.
  const auto loop = pickle_of(
      "\x80\x02]q\x00h\x00"
      "a."s);
  REQUIRE(loop.pickle);
  CHECK(loop.pickle->top().items.size() == 1);
  const Imported in = import_job(LiveFormat::flight_recorder, {text_source("x_0",
                                                                           "\x80\x02}(X\x07\x00\x00\x00"
                                                                           "entries]q\x00(h\x00h\x00"
                                                                           "eu."s)});
  CHECK(in.tables.empty());
  CHECK(has_problem(in, "entry 1: an entry lacks a value"));
}

}  // namespace
}  // namespace fabricast
