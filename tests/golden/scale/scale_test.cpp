// A million GPUs stay an everyday question: budgets of processor time and memory, twice what docs/benchmarks.md aims at.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "bench/commands.hpp"
#include "support/command_line.hpp"

namespace {

using fabricast::bench::measure;
using fabricast::bench::Usage;

const std::string scenario = FABRICAST_SOURCES "/scenarios/million_gpus.yaml";

}  // namespace

TEST_CASE("a million GPUs are forecast in seconds, with intervals, in less than a gigabyte", "[scale]") {
  for (const std::string algorithm : {"Ring", "Tree", "NVLSTree"}) {
    CAPTURE(algorithm);
    const Usage u =
        measure(scenario, {"nccl.env.NCCL_ALGO=" + algorithm, "nccl.env.NCCL_PROTO=Simple"}, 120, {"--threads", "2"});
    REQUIRE(u.finished);
    CHECK(u.processor < 8);  // 2 s on two cores are aimed at
    CHECK(u.megabytes < 1000);
  }
}

TEST_CASE("a training step on a million GPUs is forecast in minutes", "[.all]") {
  const Usage u =
      measure(FABRICAST_SOURCES "/scenarios/million_gpus_step.yaml", {}, 600, {"--threads", "2", "--no-intervals"});
  REQUIRE(u.finished);
  CHECK(u.processor < 240);  // 60 s on two cores are aimed at
  CHECK(u.megabytes < 8000);
}

TEST_CASE("a forecast of a million GPUs does not depend on the number of threads", "[scale]") {
  const auto run = [&](const std::string& threads) {
    return fabricast::output("run " + scenario + " --no-intervals --set nccl.env.NCCL_ALGO=Tree --json - --threads " +
                             threads);
  };
  const std::string one = run("1");
  CHECK(one.find("\"tree\"") != std::string::npos);
  CHECK(run("2") == one);
  CHECK(run("3") == one);
}

TEST_CASE("processor time grows with the GPUs, not faster", "[scale]") {
  const auto processor = [&](const char* nodes) {
    double least = 1e9;
    for (int i = 0; i < 2; ++i)
      least = std::min(least, measure(scenario, {std::string("cluster.nodes=") + nodes}, 120).processor);
    return least;
  };
  CHECK(processor("131072") < 64 * processor("2048"));
}
