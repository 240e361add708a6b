// Forecasts that go on from measured rows, as a user meets them: the forms that say the same, what they narrow and what they
// do not, and what is refused.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command_line.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;
using Json = nlohmann::json;

const std::string head =
    "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nnccl: {version: \"2.27\"}\n"
    "workload: {collective: all_reduce, sizes: [1KiB, 256MiB, 1GiB]}\n";
constexpr std::int64_t bytes = 1 << 30;
constexpr double us = 5000, ranks = 16;

struct Site {
  Scratch folder;
  std::string scenario = folder / "s.yaml";

  explicit Site(const std::string& more = "") { std::ofstream(scenario) << head << more; }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = folder / name;
    std::ofstream(path) << text;
    return path;
  }
  Json rows(const std::string& words = "") const {
    return Json::parse(output("run " + scenario + " --json -" + words)).at("rows");
  }
};

double interval(const Json& row) {
  return row.at("interval_90_us").at("high").get<double>() / row.at("time_us").get<double>();
}

const std::string as_case = fmt::format(
    R"([{{"id": "ours", "system": "ours", "collective": "all_reduce", "nodes": 2, "gpus_per_node": 8, "gpu": "h100-sxm",
  "intranode": "nvswitch", "nics": 8, "nic_gbps": 400, "link": "infiniband", "nccl_version": "2.27", "env": {{}},
  "harness": {{"tool": "nccl_tests"}}, "rows": [{{"bytes": {}, "time_us": {}}}]}}])",
    bytes, us);

TEST_CASE("a time, a bus bandwidth and a CSV that say the same go on to the same forecasts", "[measured]") {
  const Site site;
  const Json by_csv = site.rows(" --measured " + site.file("m.csv", fmt::format("bytes,time_us\n{},{}\n", bytes, us)));
  CHECK(Site("measured: {all_reduce: {1GiB: 5ms}}\n").rows() == by_csv);
  // nccl-tests: bus bandwidth of an all-reduce is bytes / time * 2 (n - 1) / n.
  const double rate = static_cast<double>(bytes) / (us * 1e3) * 2 * (ranks - 1) / ranks;
  const Json by_rate = Site(fmt::format("measured: {{all_reduce: {{1GiB: {:.9f}GB/s}}}}\n", rate)).rows();
  for (std::size_t i = 0; i < by_csv.size(); ++i)
    CHECK(by_rate[i].at("time_us").get<double>() == Approx(by_csv[i].at("time_us").get<double>()).epsilon(1e-6));
}

TEST_CASE("a case of the same site moves forecasts as its rows do", "[measured]") {
  const Site site;
  const Json before = site.rows(), after = site.rows(" --measured " + site.file("c.json", as_case));
  // The case's scenario states less than the profile of this one, so they need not agree in every digit.
  const double measured = us / before[2].at("time_us").get<double>();
  CHECK(after[2].at("time_us").get<double>() / before[2].at("time_us").get<double>() > 1 + (measured - 1) / 2);
}

TEST_CASE("intervals narrow near what was measured, and hardly far away", "[measured]") {
  const Site site;
  const Json before = site.rows();
  const Json after = site.rows(" --measured " + site.file("m.csv", fmt::format("bytes,time_us\n{},{}\n", bytes, us)));
  CHECK(after[2].at("time_us").get<double>() == Approx(us).epsilon(0.03));
  CHECK(interval(after[2]) - 1 < (interval(before[2]) - 1) / 2);
  CHECK(interval(after[1]) < interval(before[1]));
  CHECK(interval(after[0]) - 1 > 0.8 * (interval(before[0]) - 1));
  CHECK(after[0].at("time_us").get<double>() == Approx(before[0].at("time_us").get<double>()).epsilon(0.1));
}

TEST_CASE("rows that only the flow engine can use are refused by the others", "[measured]") {
  const Site site;
  const std::string csv = site.file("m.csv", fmt::format("bytes,time_us\n{},{}\n", bytes, us));
  const Ran ran = run_fabricast("run " + site.scenario + " --set network.engine=bound --measured " + csv);
  CHECK(ran.code == 2);
  CHECK(ran.err.find("only forecasts of the flow engine can be conditioned on measured rows") != std::string::npos);
  CHECK(ran.out.empty());
}

TEST_CASE("an effective scenario says what was measured, and nothing where nothing was", "[measured]") {
  const auto effective = [](const Site& site) { return output("run " + site.scenario + " --dump-effective"); };
  CHECK(effective(Site()).find("measured") == std::string::npos);
  const std::string text = effective(Site("measured: {all_reduce: {1GiB: 390GB/s}}\n"));
  CHECK(text.find("measured:\n  all_reduce:\n    1GiB: 390GB/s\n") != std::string::npos);
  CHECK(text.find("alltoall") == std::string::npos);
}

}  // namespace
}  // namespace fabricast
