// The scenarios of risk show what they are meant to show.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command_line.hpp"

namespace {

using nlohmann::json;

json risk(const std::string& scenario, const std::string& options = {}) {
  return json::parse(fabricast::output_once("risk scenarios/risk_" + scenario +
                                            ".yaml --elements 1 --samples 200 --json - " + options));
}

json find(const json& risk, const std::string& component, const std::string& event) {
  for (const json& c : risk.at("classes"))
    if (c.at("component") == component && c.at("event") == event) return c;
  FAIL("no such class");
  return {};
}

double goodput(const json& risk) { return risk.at("month").at("goodput"); }

}  // namespace

TEST_CASE("two planes keep the job running where one stops it", "[risk]") {
  const json one = risk("h100_roce_512"), two = risk("dual_tor_512");
  CHECK(find(one, "nic_cable", "down").at("stops") == true);
  CHECK(find(one, "nic_cable", "down").at("count") == 4096);
  CHECK(find(one, "leaf", "down").at("stops") == true);
  CHECK(find(two, "nic_cable", "down").at("stops") == false);
  CHECK(find(two, "nic_cable", "down").at("count") == 8192);
  CHECK(find(two, "leaf", "down").at("stops") == false);
  CHECK(goodput(two) > goodput(one));
  // Stops by network of a job of 4,096 GPUs: HPN had one or two a month with jobs of a thousand or so [FABRICS-8].
  double network = 0;
  for (const json& c : one.at("classes"))
    if (c.at("stops") == true && c.at("component") != "gpu" && c.at("component") != "host" &&
        c.at("component") != "software")
      network += c.at("per_month").get<double>();
  CHECK(network > 2);
  CHECK(network < 8);
  CHECK(one.at("what_would_help").size() > 1);
}

TEST_CASE("a failure slows a collective more than a step", "[risk]") {
  const json fat_tree = risk("fat_tree_64");
  const json worst = fat_tree.at("worst_survived");
  CHECK(worst.at("slowdown_worst") > 1.4);
  CHECK(find(fat_tree, "nic_cable", "degraded").at("slowdown") >
        find(risk("h100_roce_512"), "nic_cable", "degraded").at("slowdown"));
}
