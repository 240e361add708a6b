#include "fabricast/scenario/schema.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/scenario/commented.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {
namespace {

nlohmann::json schema() { return nlohmann::json::parse(scenario_schema("1.2.3")); }

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST_CASE("the schema has every section of the scenario") {
  const nlohmann::json s = schema();
  std::vector<std::string> sections{"objective", "sweep"};  // which `plan` takes apart
  for (const Field& part : scenario_fields().parts) sections.push_back(part.name);
  std::sort(sections.begin(), sections.end());
  CHECK(keys_of(s["properties"]) == sections);
  CHECK(s["additionalProperties"] == false);
}

TEST_CASE("a section has a branch for each word that decides its keys, and one for none") {
  const nlohmann::json s = schema();
  const auto& fabric = s["properties"]["fabric"];
  REQUIRE(fabric["allOf"].size() == topologies().size() + 1);
  const auto keys = [&](std::size_t branch) { return keys_of(fabric["allOf"][branch]["then"]["properties"]); };
  const auto has = [&](std::size_t branch, const char* key) {
    const auto all = keys(branch);
    return std::find(all.begin(), all.end(), key) != all.end();
  };
  CHECK(fabric["allOf"][1]["if"]["properties"]["kind"]["const"] == "leaf_spine");
  CHECK(has(1, "leaves"));
  CHECK_FALSE(has(1, "oversubscription"));
  CHECK_FALSE(has(2, "leaves"));
  CHECK(has(2, "oversubscription"));
  // Without a word the node decides which kind it is, so any key may be right.
  CHECK((has(topologies().size(), "leaves") && has(topologies().size(), "oversubscription")));
  CHECK_FALSE(s["properties"]["cluster"].contains("allOf"));
}

TEST_CASE("a default is in the schema if all kinds of nodes agree on it") {
  const nlohmann::json s = schema();
  CHECK(s["properties"]["cluster"]["properties"]["nodes"]["default"] == 1);
  const auto& gpus = s["properties"]["node"]["properties"]["gpus"];
  CHECK_FALSE(gpus.contains("default"));
  CHECK(gpus["description"].get<std::string>().ends_with("default: by node"));
}

TEST_CASE("keys that elements of lists must have show no default") {
  const Field all = scenario_fields();
  for (const char* key : {"faults[].rate", "jobs[].nodes"}) {
    REQUIRE(all.find(key));
    CHECK(all.find(key)->value.empty());
  }
  const nlohmann::json s = schema();
  CHECK_FALSE(s["properties"]["faults"]["items"]["properties"]["rate"].contains("default"));
  CHECK(s["properties"]["jobs"]["items"]["required"] == nlohmann::json{"nodes"});
}

TEST_CASE("the reader requires what the schema requires") {
  const std::vector<GivenKey> all{{"fabricast", "1"}, {"node", "{}"}, {"cluster.nodes", "2"}, {"workload", "{}"}};
  CHECK_NOTHROW(parse_scenario(plain_yaml(all), "test"));
  const nlohmann::json s = schema();
  CHECK(s["required"].size() == all.size());
  for (const std::string section : s["required"]) {
    INFO(section);
    std::vector<GivenKey> others;
    for (const GivenKey& k : all)
      if (k.path.substr(0, k.path.find('.')) != section) others.push_back(k);
    CHECK_THROWS_AS(parse_scenario(plain_yaml(others), "test"), UserError);
  }
}

TEST_CASE("keys for --set cover all kinds, once each") {
  const std::vector<ScenarioKey> keys = scenario_keys();
  const auto find = [&](const char* path) {
    return std::count_if(keys.begin(), keys.end(), [&](const ScenarioKey& k) { return k.path == path; });
  };
  for (const char* path : {"fabric.leaves", "fabric.oversubscription", "routing.seeds", "workload.from",
                           "workload.phase", "workload.parallel.tensor", "node.nics.rate", "nccl.env"}) {
    INFO(path);
    CHECK(find(path) == 1);
  }
  CHECK(find("faults[].link") == 0);
}

TEST_CASE("plain keys become sections; the last value of a path wins") {
  CHECK(plain_yaml({{"a.b.c", "1"}, {"d", "2"}, {"a.e", "3"}, {"a.b.c", "4"}}) == "a:\n  b:\n    c: 4\n  e: 3\nd: 2\n");
}

TEST_CASE("a commented scenario reads back to the given keys") {
  const std::vector<GivenKey> keys{{"fabricast", "1"},
                                   {"node.profile", "hgx-h100"},
                                   {"cluster.nodes", "8"},
                                   {"fabric.kind", "fat_tree"},
                                   {"fabric.switch.ports", "128"},
                                   {"nccl.env.NCCL_ALGO", "Ring"},
                                   {"workload.sizes", "[1MiB, 2GiB]"}};
  const std::string text = commented_yaml({"first line", "", "third"}, keys);
  CHECK(text.starts_with("# first line\n#\n# third\n"));
  CHECK(to_yaml(parse_scenario(text, "test").scenario) == to_yaml(parse_scenario(plain_yaml(keys), "test").scenario));
  CHECK(text.find("    # Ports of a switch (radix).\n    ports: 128\n") != std::string::npos);
  CHECK(text.find("One of: single_switch, leaf_spine,") != std::string::npos);
  std::vector<GivenKey> explained = keys;
  explained[4].why = "As in the data sheet.";
  CHECK(commented_yaml({}, explained).find("# Ports of a switch (radix). As in the data sheet.\n") !=
        std::string::npos);
  CHECK_THROWS_AS(commented_yaml({}, {{"fabricast", "1"}}), UserError);
}

}  // namespace
}  // namespace fabricast
