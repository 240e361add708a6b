// The scenarios of several jobs show what they are meant to show.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command_line.hpp"

namespace {

using nlohmann::json;

json jobs(const std::string& scenario, const std::string& options = {}) {
  return json::parse(fabricast::output("jobs scenarios/jobs_" + scenario + ".yaml --json - " + options));
}

}  // namespace

TEST_CASE("two scattered jobs slow each other, and the recommended hosts undo it", "[jobs]") {
  const json f = jobs("fragmented");
  CHECK(f.at("jobs").at(0).at("slowdown") > 1.4);
  CHECK(f.at("jobs").at(1).at("slowdown") > 1.1);
  CHECK(f.at("contended_links") > 4);
  const json best = f.at("recommended");
  CHECK(best.at("placement") == "rail_aligned");
  CHECK(best.at("shuffled_s").get<double>() > 1.2 * best.at("beside_s").get<double>());
  // As the words of the recommendation make it, `run` says the same.
  std::string set;
  for (const json& word : best.at("set")) set += " --set '" + word.get<std::string>() + "'";
  const json run = json::parse(fabricast::output("run scenarios/jobs_fragmented.yaml --no-intervals --json -" + set));
  CHECK(run.at("rows").at(0).at("time_us").get<double>() * 1e-6 < 1.01 * best.at("beside_s").get<double>());
  // What `run` says of the scenario itself is what the table says.
  const json own = json::parse(fabricast::output("run scenarios/jobs_fragmented.yaml --no-intervals --json -"));
  CHECK(own.at("rows").at(0).at("time_us").get<double>() * 1e-6 ==
        Approx(f.at("jobs").at(0).at("beside").at("s").get<double>()));
}

TEST_CASE("storage on the fabric costs a step little, and a packed job nothing", "[jobs]") {
  const json f = jobs("storage");
  CHECK(f.at("jobs").at(0).at("slowdown") > 1.005);
  CHECK(f.at("jobs").at(0).at("slowdown") < 1.03);
  CHECK(f.at("slowdown").at(0).at(2) > f.at("slowdown").at(0).at(1));  // by reads, not by the other job
  for (const json& flow : f.at("flows")) CHECK(flow.at("got_gbps") == flow.at("wanted_gbps"));
  CHECK(jobs("storage", "--set cluster.placement=packed").at("jobs").at(0).at("slowdown") == Approx(1).epsilon(1e-3));
  CHECK(jobs("storage", "--set 'background[0].rate=40GBps'").at("jobs").at(0).at("slowdown") > 1.03);
}

TEST_CASE("reads in a traffic class of their own cost a step little, and jobs says so where they are not", "[jobs]") {
  const json apart = jobs("storage_class");
  CHECK(apart.at("jobs").at(0).at("class") == "nccl");
  CHECK(apart.at("flows").at(0).at("class") == "storage");
  CHECK(apart.at("jobs").at(0).at("slowdown") < 1.01);
  CHECK_FALSE(apart.contains("flows_apart"));
  CHECK(jobs("storage_class", "--set 'background[0].class=nccl'").at("jobs").at(0).at("slowdown") > 1.3);
  const json f = jobs("storage_class", "--set 'fabric.congestion.classes=[]' --set 'background[0].class='");
  CHECK(f.at("jobs").at(0).at("slowdown") > 1.3);
  CHECK_FALSE(f.at("jobs").at(0).contains("class"));
  CHECK(f.at("flows_apart").at("beside_s").get<double>() < 1.01 * f.at("jobs").at(0).at("alone").at("s").get<double>());
  // As its words make it, `run` says the same.
  std::string set;
  for (const json& word : f.at("flows_apart").at("set")) set += " --set '" + word.get<std::string>() + "'";
  const json run =
      json::parse(fabricast::output("run scenarios/jobs_storage_class.yaml --no-intervals --json -" + set));
  CHECK(run.at("step_s").get<double>() == Approx(f.at("flows_apart").at("beside_s").get<double>()));
}
