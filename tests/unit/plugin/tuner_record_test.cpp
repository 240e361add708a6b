// The recorder that tests/plugin/on_gpu.py runs in NCCL.
#include <nlohmann/json.hpp>

#include "tuner_files.hpp"

namespace fabricast {
namespace {

using namespace test;

TEST_CASE("the recorder writes what NCCL tells a tuner, and changes nothing", "[plugin]") {
  void* library = dlopen(FABRICAST_TUNER_RECORDER, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  const Scratch scratch;
  const Variable file("FABRICAST_RECORD", scratch / "record.jsonl");
  for (const int version : {4, 5}) {
    TunerOf tuner(library, version);
    REQUIRE(tuner.init(2, 16) == 0);
    CHECK(unchanged(tuner.ask({.function = 2, .bytes = 4096, .pipelined = 3, .registered = true})));
    CHECK(tuner.end() == 0);
  }
  dlclose(library);
  std::vector<nlohmann::json> lines;
  std::ifstream in(scratch / "record.jsonl");
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == nlohmann::json{{"init", 1}, {"interface", 4}, {"nodes", 2}, {"ranks", 16}});
  CHECK(lines[2].at("domains") == nlohmann::json{1, 2, 3});
  const auto shape = [&](const std::string& key) {
    std::vector<std::size_t> sizes;
    for (nlohmann::json level = lines[2].at(key); level.is_array(); level = nlohmann::json(level[0]))
      sizes.push_back(level.size());
    return sizes;
  };
  CHECK(shape("base_latencies") == std::vector<std::size_t>{7, 3});
  CHECK(shape("hw_latencies") == std::vector<std::size_t>{3, 7, 3});
  for (const char* key : {"ll_max_bws", "ring_ll128_bws", "tree_ll128_bws", "tree_bws", "nvlstree_bws"})
    CHECK(shape(key) == std::vector<std::size_t>{4, 3});
  for (const std::size_t i : {1, 3}) {
    CHECK(lines[i].at("call") == (i + 1) / 2);
    CHECK(lines[i].at("collective") == "all_gather");
    CHECK(lines[i].at("bytes") == 4096);
    CHECK(lines[i].at("pipelined") == 3);
    CHECK(lines[i].at("registered") == 1);
    CHECK(lines[i].at("costs") == nlohmann::json(all_allowed()));
  }
}

}  // namespace
}  // namespace fabricast
