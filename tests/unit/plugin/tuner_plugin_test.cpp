// NCCL's tuner plugin, loaded as NCCL loads it and asked through each of its interfaces.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <thread>

#include "tuner_files.hpp"

namespace fabricast {
namespace {

using namespace test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

constexpr int versions[] = {2, 3, 4, 5, 6};
constexpr std::size_t MiB = 1 << 20;

const std::string two_ranges =
    profile_text(table_text("all_reduce", 8, 64,
                            {{"1024", "2047", "tree", "ll", "2"}, {"1048576", "4194303", "ring", "simple", "16"}}) +
                 ", " + table_text("all_gather", 8, 64, {{"0", "9223372036854775807", "ring", "ll", "8"}}) + ", " +
                 table_text("all_reduce", 1, 8, {{"0", "100", "ring", "ll", "1"}}));

/// Opens a communicator of 8 nodes and 64 ranks through each interface, with the profile of two_ranges, and lets `check`
/// ask its tuner.
template <class Check>
void through_each_interface(const Check& check) {
  const Scratch scratch;
  const Variable file("NCCL_TUNER_CONFIG_FILE", write_profile(scratch, two_ranges));
  const Library library;
  for (const int version : versions) {
    CAPTURE(version);
    TunerOf tuner(library.handle, version);
    REQUIRE(tuner.init(8, 64) == 0);
    CHECK_THAT(only_line(), StartsWith("fabricast: " + scratch.path.string()) &&
                                Contains(": 3 overrides for 8 nodes, 64 ranks (scenario 'nodes8', NCCL 2.28.3)"));
    check(tuner, version);
    CHECK(tuner.end() == 0);
    take_log();
  }
}

TEST_CASE("each interface of NCCL gets the profile's choice, and NCCL's elsewhere", "[plugin]") {
  through_each_interface([](const TunerOf& tuner, int version) {
    CHECK(tuner.name() == "fabricast");
    for (const auto& [bytes, algorithm, protocol, channels] :
         {std::tuple(std::size_t{1023}, -1, -1, 0), std::tuple(std::size_t{1024}, 0, 0, 2),
          std::tuple(std::size_t{2047}, 0, 0, 2), std::tuple(std::size_t{2048}, -1, -1, 0), std::tuple(MiB, 1, 2, 16),
          std::tuple(4 * MiB - 1, 1, 2, 16), std::tuple(4 * MiB, -1, -1, 0)}) {
      CAPTURE(bytes);
      const PluginAnswer a = tuner.ask({.bytes = bytes});
      CHECK(a.result == 0);
      CHECK(a.algorithm == algorithm);
      CHECK(a.protocol == protocol);
      CHECK(a.channels == channels);
      CostTable expected = all_allowed();
      if (version > 2 && algorithm >= 0)
        expected[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)] = 0;
      CHECK(a.costs == expected);
    }
    CHECK(tuner.ask({.function = 2, .bytes = SIZE_MAX >> 1}).channels == 8);
    CHECK(unchanged(tuner.ask({.function = 2, .bytes = SIZE_MAX})));
    for (const int function : {-1, 0, 1, 3, 5, 14, 1000})
      CHECK(unchanged(tuner.ask({.function = function, .bytes = MiB})));
  });
}

TEST_CASE("the tables of functions are those that NCCL documents", "[plugin]") {
  const Library library;
  for (const int version : versions) {
    const TunerOf tuner(library.handle, version);
    for (std::size_t i = 0; i < 4; ++i) CHECK(tuner.word(i));
  }
  // NCCL 2.30 and newer then keep their own chunk size.
  CHECK(TunerOf(library.handle, 6).word(4) == nullptr);
  for (const int version : {1, 7}) CHECK(TunerOf::symbol(library.handle, version) == nullptr);
}

TEST_CASE("only inputs that are equal on all ranks matter", "[plugin]") {
  through_each_interface([](const TunerOf& tuner, int) {
    // Registration is a rank's own; several calls per channel are another forecast.
    CHECK(tuner.ask({.bytes = MiB, .registered = true}).channels == 16);
    CHECK(tuner.ask({.bytes = MiB, .registered = false}).channels == 16);
    CHECK(unchanged(tuner.ask({.bytes = MiB, .pipelined = 2})));
  });
}

TEST_CASE("what NCCL does not allow stays NCCL's choice", "[plugin]") {
  const Scratch scratch;
  const Library library;
  const auto one = [&](const std::string& collective, int nodes, const std::string& algorithm,
                       const std::string& protocol) {
    const Range range{"0", "4096", algorithm, protocol, "12"};
    return write_profile(scratch, profile_text(table_text(collective, nodes, 8 * nodes, {range})));
  };
  for (const int version : {3, 4, 5, 6}) {
    CAPTURE(version);
    const Variable file("NCCL_TUNER_CONFIG_FILE", one("all_gather", 8, "pat", "simple"));
    TunerOf tuner(library.handle, version);
    REQUIRE(tuner.init(8, 64) == 0);
    take_log();
    CostTable without = all_allowed();
    without[6][2] = -1;
    CHECK(unchanged(tuner.ask({.function = 2, .bytes = 64}, without), without));
    CHECK_THAT(only_line(), Contains("all_gather of 64 B: NCCL does not allow pat/simple here; its choice is kept"));
    // NCCL 2.22 has no PAT: the table ends before it.
    CHECK(unchanged(tuner.ask({.function = 2, .bytes = 64, .algorithms = 6})));
    CHECK(tuner.ask({.function = 2, .bytes = 64}).algorithm == 6);
    CHECK(take_log().size() == 1);
    tuner.end();
  }
  // Interface 2 has no table: only what NCCL 2.21 can run, by what it says of NVLS and CollNet.
  struct Case {
    std::string collective;
    int function, nodes;
    std::string algorithm, protocol;
    bool nvls, collnet, runs;
  };
  for (const Case& c : std::vector<Case>{{"all_reduce", 4, 8, "tree", "ll", false, false, true},
                                         {"all_gather", 2, 8, "tree", "ll", true, true, false},
                                         {"all_reduce", 4, 8, "ring", "ll128", true, true, false},
                                         {"all_gather", 2, 8, "pat", "simple", true, true, false},
                                         {"broadcast", 0, 8, "ring", "ll", false, false, true},
                                         {"all_gather", 2, 1, "nvls", "simple", true, false, true},
                                         {"all_gather", 2, 1, "nvls", "simple", false, true, false},
                                         {"all_reduce", 4, 8, "nvls", "simple", true, true, false},
                                         {"reduce", 1, 1, "nvls", "simple", true, true, false},
                                         {"all_reduce", 4, 8, "nvlstree", "simple", true, false, true},
                                         {"all_reduce", 4, 1, "nvlstree", "simple", true, false, false},
                                         {"all_reduce", 4, 8, "collnetchain", "simple", false, true, true},
                                         {"all_reduce", 4, 8, "collnetdirect", "simple", true, false, false},
                                         {"all_reduce", 4, 8, "collnetdirect", "ll", false, true, false}}) {
    CAPTURE(c.collective, c.nodes, c.algorithm, c.protocol, c.nvls, c.collnet);
    const Variable file("NCCL_TUNER_CONFIG_FILE", one(c.collective, c.nodes, c.algorithm, c.protocol));
    TunerOf tuner(library.handle, 2);
    REQUIRE(tuner.init(static_cast<std::size_t>(c.nodes), static_cast<std::size_t>(8 * c.nodes)) == 0);
    CostTable costs = all_allowed();
    if (!c.nvls) costs[4].fill(-1), costs[5].fill(-1);
    if (!c.collnet) costs[2].fill(-1), costs[3].fill(-1);
    CHECK((tuner.ask({.function = c.function, .bytes = 64}, costs).algorithm >= 0) == c.runs);
    tuner.end();
  }
  take_log();
}

TEST_CASE("channels stay NCCL's where it would not limit them", "[plugin]") {
  const Scratch scratch;
  const Library library;
  for (const auto& [algorithm, nodes, channels] :
       {std::tuple("collnetdirect", 8, 0), std::tuple("collnetchain", 8, 0), std::tuple("nvls", 8, 0),
        std::tuple("nvls", 1, 12), std::tuple("nvlstree", 8, 12), std::tuple("tree", 8, 12)}) {
    CAPTURE(algorithm, nodes);
    const Range range{"0", "4096", algorithm, "simple", "12"};
    const Variable file("NCCL_TUNER_CONFIG_FILE",
                        write_profile(scratch, profile_text(table_text("all_reduce", nodes, 8 * nodes, {range}))));
    TunerOf tuner(library.handle, 6);
    REQUIRE(tuner.init(static_cast<std::size_t>(nodes), static_cast<std::size_t>(8 * nodes)) == 0);
    const PluginAnswer a = tuner.ask({.bytes = 64});
    CHECK(a.algorithm >= 0);
    CHECK(a.channels == channels);
    CHECK_THAT(take_log().back(), Contains(channels == 0 ? " on NCCL's channels (" : " on 12 channels ("));
    tuner.end();
  }
}

TEST_CASE("the log says each range once, on whatever thread", "[plugin]") {
  const Scratch scratch;
  const Variable file("NCCL_TUNER_CONFIG_FILE", write_profile(scratch, two_ranges));
  const Library library;
  TunerOf tuner(library.handle, 5);
  REQUIRE(tuner.init(8, 64) == 0);
  take_log();
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    for (std::size_t i = 0; i < 20000; ++i) {
      const PluginAnswer a = tuner.ask({.bytes = 2 * MiB});
      wrong += a.algorithm != 1 || a.channels != 16;
      wrong += tuner.ask({.bytes = 1024}).channels != 2;
      wrong += !unchanged(tuner.ask({.bytes = 8 * MiB}));
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(wrong == 0);
  std::vector<std::string> lines = take_log();
  std::sort(lines.begin(), lines.end());
  CHECK(lines == std::vector<std::string>{
                     "fabricast: all_reduce of 1 KiB: tree/ll on 2 channels (forecast 15 % faster, 8 to 21)",
                     "fabricast: all_reduce of 2 MiB: ring/simple on 16 channels (forecast 15 % faster, 8 to 21)"});
  // A communicator has a log of its own.
  TunerOf second(library.handle, 5);
  REQUIRE(second.init(8, 64) == 0);
  take_log();
  second.ask({.bytes = 1500});
  CHECK_THAT(only_line(), Contains("all_reduce of 1500 B: tree/ll"));
  second.end();
  tuner.end();
}

/// The plain way: the first range that contains the size.
struct Chosen {
  std::size_t from, to;
  int algorithm, protocol, channels;
};

TEST_CASE("the search finds what a plain search finds", "[plugin]") {
  const Scratch scratch;
  const Library library;
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::vector<std::string> protocols = {"ll", "ll128", "simple"};
  for (int round = 0; round < 60; ++round) {
    std::vector<Chosen> chosen;
    std::vector<Range> ranges;
    std::size_t at = below(3);
    for (std::size_t i = 0, n = below(80); i < n; ++i) {
      at += below(2) * below(1000);
      const std::size_t to = at + (below(3) == 0 ? 0 : below(std::size_t{1} << below(30)));
      const Chosen c{at, to, static_cast<int>(below(2)), static_cast<int>(below(3)), static_cast<int>(1 + below(64))};
      chosen.push_back(c);
      ranges.push_back({std::to_string(c.from), std::to_string(c.to), c.algorithm == 0 ? "tree" : "ring",
                        protocols[static_cast<std::size_t>(c.protocol)], std::to_string(c.channels)});
      at = to + 1;
    }
    const Variable file("NCCL_TUNER_CONFIG_FILE",
                        write_profile(scratch, profile_text(table_text("all_reduce", 2, 16, ranges))));
    TunerOf tuner(library.handle, 3 + static_cast<int>(below(4)));
    REQUIRE(tuner.init(2, 16) == 0);
    for (int i = 0; i < 2000; ++i) {
      std::size_t bytes = below(std::size_t{1} << (1 + below(40)));
      if (!chosen.empty() && below(2) == 0) {
        const Chosen& near = chosen[below(chosen.size())];
        bytes = (below(2) == 0 ? near.from : near.to) + below(3) - 1;
      }
      const auto found =
          std::find_if(chosen.begin(), chosen.end(), [&](const Chosen& c) { return c.from <= bytes && bytes <= c.to; });
      const PluginAnswer a = tuner.ask({.bytes = bytes});
      const bool same = found == chosen.end() ? unchanged(a)
                                              : a.algorithm == found->algorithm && a.protocol == found->protocol &&
                                                    a.channels == found->channels;
      if (!same) FAIL("round " << round << ", " << bytes << " B");
    }
    tuner.end();
  }
  take_log();
}

TEST_CASE("an answer takes less than a microsecond", "[plugin]") {
  const Scratch scratch;
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < 4096; ++i)
    ranges.push_back({std::to_string(1000 * i), std::to_string(1000 * i + 999), "ring", "simple"});
  const Variable file("NCCL_TUNER_CONFIG_FILE",
                      write_profile(scratch, profile_text(table_text("all_reduce", 8, 64, ranges))));
  const Library library;
  TunerOf tuner(library.handle, 6);
  REQUIRE(tuner.init(8, 64) == 0);
  for (std::size_t i = 0; i < 4096; ++i) tuner.ask({.bytes = 1000 * i});
  take_log();
  std::vector<double> nanoseconds;
  for (int sample = 0; sample < 201; ++sample) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < 100; ++i) tuner.ask({.bytes = (i * 40503) % 4096000});
    nanoseconds.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
                          100);
  }
  std::nth_element(nanoseconds.begin(), nanoseconds.begin() + 100, nanoseconds.end());
  INFO("median of " << nanoseconds[100] << " ns");
  CHECK(nanoseconds[100] > 0);
#ifdef FABRICAST_TEST_SPEED
  CHECK(nanoseconds[100] < 1000);
#endif
  CHECK(take_log().empty());
  tuner.end();
}

}  // namespace
}  // namespace fabricast
