// What the tests of the tuner plugin share: the library, profiles as files, variables, lines of the log.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "fabricast/core/fingerprint.hpp"
#include "support/scratch.hpp"
#include "support/tuner_interface.hpp"

namespace fabricast::test {

/// The library, opened as NCCL opens it.
struct Library {
  void* handle = dlopen(FABRICAST_TUNER_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  Library() { REQUIRE(handle); }
  ~Library() { dlclose(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

/// A variable of the environment for as long as the object lives.
struct Variable {
  std::string name;
  Variable(std::string n, const std::string& value) : name(std::move(n)) { setenv(name.c_str(), value.c_str(), 1); }
  ~Variable() { unsetenv(name.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
};

/// The line that the plugin has written since the last call.
inline std::string only_line() {
  const std::vector<std::string> lines = take_log();
  REQUIRE(lines.size() == 1);
  return lines[0];
}

/// Whether the plugin left everything to NCCL.
inline bool unchanged(const PluginAnswer& a, const CostTable& before = all_allowed()) {
  return a.result == 0 && a.costs == before && a.algorithm == -1 && a.protocol == -1 && a.channels == 0;
}

/// A range of a profile, with its values as in the file.
struct Range {
  std::string from, to, algorithm = "ring", protocol = "simple", channels = "4", gain = "[0.08, 0.15, 0.21]";
};

inline std::string table_text(const std::string& collective, int nodes, int ranks, const std::vector<Range>& ranges) {
  std::string list;
  for (const Range& r : ranges)
    list +=
        fmt::format(R"({}{{"from": {}, "to": {}, "algorithm": "{}", "protocol": "{}", "channels": {}, "gain": {}}})",
                    list.empty() ? "" : ", ", r.from, r.to, r.algorithm, r.protocol, r.channels, r.gain);
  return fmt::format(R"({{"collective": "{}", "nodes": {}, "ranks": {}, "overrides": [{}]}})", collective, nodes, ranks,
                     list);
}

inline std::string profile_text(const std::string& tables) {
  return R"({"format": "fabricast tuner profile", "version": 1, "fabricast": "0.2.0", "scenario": "nodes8", )"
         R"("nccl": "2.28.3", "tables": [)" +
         tables + "]}\n";
}

/// Writes a file whose name fits its content.
inline std::string write_profile(const Scratch& scratch, const std::string& text) {
  const std::string path = scratch / ("profile." + fingerprint(text) + ".json");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace fabricast::test
