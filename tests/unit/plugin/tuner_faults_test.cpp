// Faulty profiles: NCCL's choice, one line that says what and where, and an error if FABRICAST_TUNER_STRICT is 1.
#include <sys/stat.h>

#include <random>

#include "tuner_files.hpp"

namespace fabricast {
namespace {

using namespace test;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

constexpr int success = 0, invalid_usage = 5;

const std::string good = profile_text(table_text("all_reduce", 8, 64, {{"1", "9"}, {"10", "19"}}) + ", " +
                                      table_text("reduce", 8, 64, {{"0", "9"}}));

/// Opens a communicator of 8 nodes and 64 ranks with a profile that must be refused, both ways.
void check_refused(const Library& library, const std::string& said) {
  for (const int version : {2, 3, 4, 5, 6}) {
    CAPTURE(version);
    TunerOf tuner(library.handle, version);
    CHECK(tuner.init(8, 64) == success);
    CHECK_THAT(only_line(), Contains(said) && EndsWith("; NCCL's choice is kept"));
    for (int function = 0; function < 5; ++function) CHECK(unchanged(tuner.ask({.function = function, .bytes = 5})));
    CHECK(tuner.end() == success);
    const Variable strict("FABRICAST_TUNER_STRICT", "1");
    CHECK(tuner.init(8, 64) == invalid_usage);
    CHECK_THAT(only_line(), Contains(said) && EndsWith("; FABRICAST_TUNER_STRICT=1 ends the job"));
    CHECK(tuner.context() == nullptr);
    // NCCL ends a tuner whose init failed, too.
    CHECK(tuner.end() == success);
  }
}

TEST_CASE("a fault of the file is named, and NCCL chooses", "[plugin]") {
  const Scratch scratch;
  const Library library;
  SECTION("no variable") {
    unsetenv("NCCL_TUNER_CONFIG_FILE");
    check_refused(library, "fabricast: NCCL_TUNER_CONFIG_FILE is not set");
    const Variable empty("NCCL_TUNER_CONFIG_FILE", "");
    check_refused(library, "fabricast: NCCL_TUNER_CONFIG_FILE is not set");
  }
  SECTION("no file") {
    const Variable file("NCCL_TUNER_CONFIG_FILE", scratch / "none.0123456789abcdef.json");
    check_refused(library, "none.0123456789abcdef.json: No such file or directory");
    const Variable folder("NCCL_TUNER_CONFIG_FILE", scratch.path.string());
    check_refused(library, ": not a file");
    const std::string pipe = scratch / "pipe.0123456789abcdef.json";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    const Variable never("NCCL_TUNER_CONFIG_FILE", pipe);
    check_refused(library, ": not a file");
  }
  SECTION("another content than the name says") {
    const std::string path = write_profile(scratch, good);
    std::ofstream(path, std::ios::app) << " ";
    const Variable file("NCCL_TUNER_CONFIG_FILE", path);
    check_refused(library, ": the content has the fingerprint " + fingerprint(good + " ") + ", not that of the name");
  }
  SECTION("a name without a fingerprint") {
    for (const std::string name : {"profile.json", "profile.0123456789ABCDEF.json", "profile.0123456789abcde.json",
                                   "0123456789abcdef.json", "profile.0123456789abcdef.csv"}) {
      std::ofstream(scratch / name) << good;
      const Variable file("NCCL_TUNER_CONFIG_FILE", scratch / name);
      check_refused(library, name + ": the name does not end in a fingerprint of 16 digits and .json");
    }
  }
  SECTION("more than a profile ever has") {
    const Variable file("NCCL_TUNER_CONFIG_FILE", write_profile(scratch, std::string((16 << 20) + 1, ' ')));
    check_refused(library, ": more than 16 MiB");
  }
}

/// The profile with one table of one range.
std::string with(const Range& range) { return profile_text(table_text("all_reduce", 8, 64, {range})); }

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST_CASE("a fault of the content is named with its place", "[plugin]") {
  const Scratch scratch;
  const Library library;
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "not JSON at byte 1"},
      {good.substr(0, 60), "not JSON at byte 61"},
      {"[]", ": not an object"},
      {std::string(100000, '['), "not JSON at byte 100001"},
      {replaced(good, "nodes8", "\xff"), "not JSON at byte "},
      {replaced(good, "fabricast tuner profile", "fabricast profile"), "format: not 'fabricast tuner profile'"},
      {replaced(good, "\"version\": 1", "\"version\": 2"), "version: 2 is not between 1 and 1"},
      {replaced(good, "\"version\": 1", "\"version\": 1.0"), "version: not a whole number"},
      {replaced(good, "\"nccl\"", "\"mccl\""), "unknown key 'mccl'"},
      {replaced(good, "\"nccl\"", "\"\\u0001\""), "unknown key '?'"},
      {replaced(good, "\"nccl\": \"2.28.3\", ", ""), "the key 'nccl' is missing"},
      {replaced(good, "\"nodes8\"", "8"), "scenario: not a text"},
      {replaced(good, "\"tables\": [", "\"tables\": [7, "), "tables[0]: not an object"},
      {profile_text(table_text("allreduce", 8, 64, {})), "tables[0].collective: unknown word 'allreduce'"},
      {profile_text(table_text("alltoall", 8, 64, {})),
       "tables[0].collective: NCCL does not ask a tuner about 'alltoall'"},
      {profile_text(table_text("reduce", 0, 64, {})), "tables[0].nodes: 0 is not between 1 and 2147483647"},
      {profile_text(table_text("reduce", 8, 7, {})), "tables[0].ranks: 7 is not between 8 and 2147483647"},
      {profile_text(table_text("reduce", 8, -1, {})), "tables[0].ranks: -1 is not between 8 and 2147483647"},
      {profile_text(table_text("reduce", 8, 64, {}) + "," + table_text("reduce", 8, 64, {})),
       "tables[1]: a second table of reduce for this shape"},
      {with({"0", "9", "Tree"}), "tables[0].overrides[0].algorithm: unknown word 'Tree'"},
      {with({"0", "9", "peers"}), "tables[0].overrides[0].algorithm: "},
      {with({"0", "9", "tree", "ll256"}), "tables[0].overrides[0].protocol: unknown word 'll256'"},
      {with({"0", "9", "tree", "ll", "0"}), "tables[0].overrides[0].channels: 0 is not between 1 and 64"},
      {with({"0", "9", "tree", "ll", "65"}), "tables[0].overrides[0].channels: 65 is not between 1 and 64"},
      {with({"0", "9", "tree", "ll", "\"4\""}), "tables[0].overrides[0].channels: not a whole number"},
      {with({"10", "9"}), "tables[0].overrides[0].to: 9 is not between 10 and 9223372036854775807"},
      {with({"0", "9223372036854775808"}), "to: 9223372036854775808 is not between 0 and 9223372036854775807"},
      {with({"0", "99999999999999999999"}), "tables[0].overrides[0].to: not a whole number"},
      {with({"-1", "9"}), "tables[0].overrides[0].from: -1 is not between 0 and"},
      {with({"0", "9", "tree", "ll", "4", "[0, 0.1, 0.2]"}), "gain: not ascending from above 0 to below 1"},
      {with({"0", "9", "tree", "ll", "4", "[0.2, 0.1, 0.3]"}), "gain: not ascending"},
      {with({"0", "9", "tree", "ll", "4", "[0.1, 0.2, 1]"}), "gain: not ascending"},
      {with({"0", "9", "tree", "ll", "4", "[0.1, 0.2]"}), "gain: not three numbers"},
      {with({"0", "9", "tree", "ll", "4", "[0.1, 0.2, null]"}), "gain[2]: not a number"},
      {profile_text(table_text("all_reduce", 8, 64, {{"0", "9"}, {"9", "19"}})),
       "tables[0].overrides[1]: does not begin above the end of the range before it"},
      {profile_text(table_text("all_reduce", 8, 64, {{"10", "19"}, {"0", "9"}})),
       "tables[0].overrides[1]: does not begin above the end of the range before it"},
      // A table of other communicators counts too.
      {profile_text(table_text("all_reduce", 8, 64, {{"0", "9"}}) + "," +
                    table_text("reduce", 1, 8, {{"0", "9", "star"}})),
       "tables[1].overrides[0].algorithm: unknown word 'star'"}};
  for (const auto& [text, said] : faults) {
    CAPTURE(text.substr(0, 1000));
    const Variable file("NCCL_TUNER_CONFIG_FILE", write_profile(scratch, text));
    check_refused(library, said);
  }
}

TEST_CASE("a communicator of another shape is NCCL's, which is no fault", "[plugin]") {
  const Scratch scratch;
  const Library library;
  const Variable file("NCCL_TUNER_CONFIG_FILE", write_profile(scratch, good));
  const Variable strict("FABRICAST_TUNER_STRICT", "1");
  for (const auto& [nodes, ranks] : {std::pair(8, 63), std::pair(7, 64), std::pair(1, 1), std::pair(64, 64)}) {
    TunerOf tuner(library.handle, 6);
    CHECK(tuner.init(static_cast<std::size_t>(nodes), static_cast<std::size_t>(ranks)) == success);
    CHECK_THAT(only_line(), Contains(fmt::format(": nothing for {} node{}, {} rank{}; NCCL's choice is kept", nodes,
                                                 nodes == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s")));
    CHECK(unchanged(tuner.ask({.bytes = 5})));
    tuner.end();
  }
  // Interface 2 does not tell what NCCL_ALGO leaves, the others do.
  for (const std::string name : {"NCCL_ALGO", "NCCL_PROTO"}) {
    const Variable variable(name, "Ring");
    TunerOf old(library.handle, 2), current(library.handle, 3);
    CHECK(old.init(8, 64) == invalid_usage);
    CHECK_THAT(only_line(), Contains("NCCL_ALGO or NCCL_PROTO is set"));
    CHECK(current.init(8, 64) == success);
    take_log();
    current.end();
  }
}

TEST_CASE("no change of a byte makes the plugin fail", "[plugin]") {
  const Scratch scratch;
  const Library library;
  std::mt19937_64 random(11);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 8); break;
        default: text.insert(at, text.substr(random() % text.size(), 1 + random() % 8));
      }
      if (text.empty()) text = " ";
    }
    const std::string path = write_profile(scratch, text);
    const Variable file("NCCL_TUNER_CONFIG_FILE", path);
    TunerOf tuner(library.handle, 5);
    REQUIRE(tuner.init(8, 64) == success);
    accepted += tuner.context() != nullptr;
    for (const std::size_t bytes : {0, 5, 15, 25}) REQUIRE(tuner.ask({.bytes = bytes}).result == success);
    REQUIRE(tuner.end() == success);
    REQUIRE_FALSE(take_log().empty());
    std::filesystem::remove(path);
  }
  // Some changes leave a valid profile: of the scenario's name, of a size.
  CHECK(accepted > 10);
  CHECK(accepted < 1500);
}

TEST_CASE("fingerprints are FNV-1a", "[plugin]") {
  CHECK(fingerprint("") == "cbf29ce484222325");
  CHECK(fingerprint("a") == "af63dc4c8601ec8c");
  CHECK(fingerprint("foobar") == "85944171f73967e8");
  // Bytes above 127 count as positive numbers.
  CHECK(fnv1a("\xff") == ((0xcbf29ce484222325ULL ^ 0xff) * 0x100000001b3ULL));
}

}  // namespace
}  // namespace fabricast
