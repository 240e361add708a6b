// The plugin in the hands of the real NCCL, as far as a machine without a GPU goes.
//
// ncclCommInitRank asks for a GPU before it loads a tuner. So this calls the functions that it would call, which the
// library keeps to itself: the loader, with an empty communicator, and NCCL's adapters from its own interface to the
// older ones. NCCL's own log function writes the log. Needs libnccl 2.28 or newer that is not stripped.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "support/library_symbols.hpp"
#include "tuner_files.hpp"

namespace fabricast {
namespace {

using namespace test;
using Catch::Matchers::Contains;

const std::string load_name = "_Z19ncclTunerPluginLoadP8ncclComm";
const std::string unload_name = "_Z21ncclTunerPluginUnloadP8ncclComm";
const std::string log_name = "_Z12ncclDebugLog17ncclDebugLogLevelmPKciS1_z";

std::string adapter_name(int version) { return "_Z15getNcclTuner_v" + std::to_string(version) + "Pv"; }

/// NCCL's functions. It reads the variables of its log once per process.
struct Nccl {
  Scratch scratch;
  std::string log_file = scratch / "log";
  void* handle = nullptr;
  int version = 0;
  std::map<std::string, void*> functions;

  Nccl() {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", log_file.c_str(), 1);
    for (const char* name : {FABRICAST_NCCL_LIBRARY, "libnccl.so.2"})
      if (!handle && *name) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    reinterpret_cast<int (*)(int*)>(dlsym(handle, "ncclGetVersion"))(&version);
    std::vector<std::string> names = {load_name, unload_name, log_name};
    for (int v = 2; v <= 6; ++v) names.push_back(adapter_name(v));
    functions = internal_symbols(handle, names);
  }

  /// Whether the tests can run; otherwise says why not.
  bool is_usable() const {
    const char* missing = !handle                           ? "libnccl.so.2 is not here"
                          : version < 22800                 ? "NCCL is older than 2.28"
                          : functions.count(load_name) == 0 ? "libnccl.so.2 is stripped"
                                                            : nullptr;
    if (missing) WARN("not run: " << missing);
    return !missing;
  }
  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(log_file).rdbuf();
    return text.str();
  }
  void* log_function() const { return functions.at(log_name); }
  /// NCCL's own interface to a plugin of a version, or null if this NCCL does not know it.
  const void* adapter(int v, void* library) const {
    const auto found = functions.find(adapter_name(v));
    return found == functions.end() ? nullptr : reinterpret_cast<const void* (*)(void*)>(found->second)(library);
  }
};

const Nccl& nccl() {
  static const Nccl instance;
  return instance;
}

const std::string one_range = profile_text(
    table_text("all_reduce", 2, 2, {{"1024", "2047", "tree", "ll", "2"}, {"4096", "8191", "ring", "simple", "3"}}));

/// NCCL's own interface: 5 up to 2.29, then 6, whose first four words are the same.
constexpr int native = 5;

TEST_CASE("NCCL's loader takes the plugin, asks it and unloads it", "[plugin]") {
  if (!nccl().is_usable()) return;
  const Scratch scratch;
  const Variable plugin("NCCL_TUNER_PLUGIN", FABRICAST_TUNER_PLUGIN);
  const Variable file("NCCL_TUNER_CONFIG_FILE", write_profile(scratch, one_range));
  // A communicator is smaller than this; the loader writes two of its members.
  std::vector<void*> communicator(1 << 20);
  REQUIRE(reinterpret_cast<int (*)(void*)>(nccl().functions.at(load_name))(communicator.data()) == 0);
  const Library library;
  const auto tuner = std::find_if(communicator.begin(), communicator.end(), [&](const void* word) {
    return word == TunerOf::symbol(library.handle, 5) || word == TunerOf::symbol(library.handle, 6);
  });
  REQUIRE(tuner != communicator.end());
  CHECK_THAT(nccl().log(), Contains("TUNER/Plugin: Using fabricast (v"));
  CHECK_THAT(nccl().log(), Contains("Successfully loaded external tuner plugin " FABRICAST_TUNER_PLUGIN));
  TunerOf asked = TunerOf::at(*tuner, native);
  REQUIRE(asked.init(2, 2, nccl().log_function()) == 0);
  CHECK_THAT(nccl().log(), Contains("NCCL INFO fabricast: ") && Contains(": 2 overrides for 2 nodes, 2 ranks"));
  CHECK(asked.ask({.bytes = 1024}).channels == 2);
  CHECK(unchanged(asked.ask({.bytes = 2048})));
  CHECK_THAT(nccl().log(),
             Contains("fabricast: all_reduce of 1 KiB: tree/ll on 2 channels (forecast 15 % faster, 8 to 21)"));
  asked.end();
  CHECK(reinterpret_cast<int (*)(void*)>(nccl().functions.at(unload_name))(communicator.data()) == 0);
  CHECK(std::all_of(communicator.begin(), communicator.end(), [](const void* word) { return !word; }));
}

TEST_CASE("NCCL's adapters of every version reach the plugin", "[plugin]") {
  if (!nccl().is_usable()) return;
  const Scratch scratch;
  const Variable file("NCCL_TUNER_CONFIG_FILE", write_profile(scratch, one_range));
  const Library library;
  int known = 0;
  for (int version = 2; version <= 6; ++version) {
    CAPTURE(version);
    const void* words = nccl().adapter(version, library.handle);
    if (!words) continue;
    ++known;
    TunerOf tuner = TunerOf::at(words, native);
    REQUIRE(tuner.init(2, 2, nccl().log_function()) == 0);
    PluginAnswer a = tuner.ask({.bytes = 1500});
    CHECK(a.algorithm == 0);
    CHECK(a.protocol == 0);
    CHECK(a.channels == 2);
    a = tuner.ask({.bytes = 8191});
    CHECK(a.algorithm == 1);
    CHECK(a.protocol == 2);
    CHECK(a.channels == 3);
    CHECK(unchanged(tuner.ask({.bytes = 100})));
    CostTable no_tree = all_allowed();
    no_tree[0].fill(-1);
    CHECK(tuner.ask({.bytes = 1500}, no_tree).costs == no_tree);
    CHECK(tuner.end() == 0);
  }
  CHECK(known >= 4);
}

}  // namespace
}  // namespace fabricast
