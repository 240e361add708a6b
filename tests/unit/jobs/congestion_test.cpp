// `fabric.congestion`: what contended links carry, and what ports that wait hold back, in whole forecasts.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "fabricast/engine/group_time.hpp"
#include "fabricast/jobs/jobs.hpp"
#include "fabricast/planner/planner.hpp"
#include "fabricast/scenario/congestion.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::world_of;

/// Hosts of one GPU and one NIC, eight at each of two leaves, which one cable joins.
std::string narrow(const std::string& order, int nodes, const std::string& congestion, const std::string& rest = "",
                   const std::string& routing = "static", const std::string& op = "sendrecv") {
  return fmt::format(
      "node: {{gpu: h100-sxm, gpus: 1, nics: {{count: 1, rate: 100Gbps, link: roce}}}}\n"
      "cluster: {{nodes: {}, size: 16, placement: [{}]}}\n"
      "fabric: {{kind: leaf_spine, leaves: 2, spines: 1, nodes_per_leaf: 8, switch: {{rate: 100Gbps}}{}}}\n"
      "routing: {{kind: {}}}\n"
      "nccl: {{version: \"2.27\"}}\n"
      "workload: {{collective: {}, sizes: [1GiB], harness: {{tool: isolated}}}}\n{}",
      nodes, order, congestion.empty() ? "" : fmt::format(", congestion: {{{}}}", congestion), routing, op, rest);
}

constexpr std::int64_t size = std::int64_t{1} << 30;

double seconds(const std::string& text) { return time_job(with_others(world_of(text)), size).time.value; }

TEST_CASE("two flows on a cable reach the fraction that is stated", "[congestion]") {
  // Ranks 0 to 3 send to the next: every message crosses the cable, two in each direction.
  const std::string two = "0, 8, 1, 9";
  const double ideal = seconds(narrow(two, 4, ""));
  for (const double part : {0.5, 0.8, 0.95})
    CHECK(seconds(narrow(two, 4, fmt::format("efficiency: {}", part))) == Approx(ideal / part).epsilon(0.002));
  CHECK(seconds(narrow(two, 4, "control: reactive")) == Approx(ideal / 0.95).epsilon(0.002));
  CHECK(seconds(narrow(two, 4, "control: reactive", "", "spray")) == Approx(ideal / 0.9).epsilon(0.002));
  CHECK(seconds(narrow(two, 4, "control: ideal")) == ideal);
  CHECK(seconds(narrow(two, 4, "control: none")) == ideal);
}

TEST_CASE("a flow that has its cable alone loses nothing", "[congestion]") {
  CHECK(seconds(narrow("0, 8", 2, "efficiency: 50%")) == seconds(narrow("0, 8", 2, "")));
  // Below one leaf nothing is contended: a port's queue is not that of a link between switches.
  CHECK(seconds(narrow("0, 1, 2, 3", 4, "efficiency: 50%")) == seconds(narrow("0, 1, 2, 3", 4, "")));
}

TEST_CASE("a higher efficiency never slows", "[congestion]") {
  for (const char* op : {"all_reduce", "all_gather", "alltoall", "broadcast", "sendrecv"})
    for (const char* routing : {"static", "ecmp, seeds: 2", "adaptive", "spray", "adaptive, by: flowlet, seeds: 2"}) {
      CAPTURE(op, routing);
      double last = seconds(narrow("0, 8, 1, 9, 2, 10", 6, "", "", routing, op));
      for (const double part : {0.95, 0.9, 0.6}) {
        const double now =
            seconds(narrow("0, 8, 1, 9, 2, 10", 6, fmt::format("efficiency: {}", part), "", routing, op));
        CHECK(now >= last * (1 - 1e-9));
        last = now;
      }
    }
}

TEST_CASE("links that count as contended carry flows of several ports", "[congestion]") {
  // Every connection is routed here, one by one, and the ports that it comes from are listed by link.
  std::size_t contended = 0, alone = 0;
  for (const char* routing : {"ecmp", "adaptive, by: flowlet", "adaptive", "static"})
    for (const auto& [op, algorithm] :
         {std::pair{CollectiveOp::all_reduce, Algorithm::ring}, std::pair{CollectiveOp::all_reduce, Algorithm::tree},
          std::pair{CollectiveOp::alltoall, Algorithm::p2p}}) {
      CAPTURE(routing, name_of(op), name_of(algorithm));
      const World world = world_of(fmt::format(
          "node: {{profile: hgx-h100}}\ncluster: {{nodes: 24, placement: random}}\n"
          "fabric: {{kind: fat_tree, oversubscription: 2, switch: {{ports: 32}}, congestion: {{efficiency: 90%}}}}\n"
          "routing: {{kind: {}}}\nworkload: {{collective: {}, sizes: [1GiB]}}\n",
          routing, name_of(op)));
      const NetworkSetup& setup = world.setup();
      const auto router = setup.policy->make(*setup.policy_spec, *world.fabric(), setup.segments.front().links, 1);
      const Plan plan = plan_collective(world.planner(), op, size, algorithm, Protocol::simple);
      std::vector<Background::FlowPath> paths;
      add_paths(setup, *router, plan, 0, paths);
      std::map<std::uint32_t, std::set<std::uint32_t>> ports;
      std::map<std::uint32_t, double> loads;
      double most = 0;
      for (const Background::FlowPath& path : paths)
        for (const std::uint32_t resource : path.resources) {
          ports[resource].insert(path.resources.front());
          loads[resource] += path.part;
        }
      for (const auto& [resource, load] : loads)
        if (!between_switches(*world.fabric(), resource)) most = std::max(most, load);
      const FabricConnections counted(setup, *router, plan, nullptr);
      counted.for_each([&](std::uint32_t resource, std::uint32_t kind) {
        const bool found = counted.contended(kind);
        (found ? contended : alone) += 1;
        if (found) CHECK(ports.at(resource).size() > 1);
        if (found) CHECK(between_switches(*world.fabric(), resource));
        if (loads.at(resource) > most * (1 + 1e-6)) CHECK(found);
      });
    }
  CHECK(contended > 100);
  CHECK(alone > 100);
}

std::string job(const std::string& order) {
  return fmt::format("jobs: [{{nodes: 2, placement: [{}], workload: {{collective: sendrecv, size: 1GiB}}}}]\n", order);
}

TEST_CASE("two jobs on a cable reach the fraction together", "[congestion]") {
  const double ideal = seconds(narrow("0, 8", 2, "", job("1, 9")));
  const double alone = seconds(narrow("0, 8", 2, ""));
  REQUIRE(ideal > 1.5 * alone);
  CHECK(seconds(narrow("0, 8", 2, "efficiency: 80%", job("1, 9"))) == Approx(ideal / 0.8).epsilon(0.005));
  CHECK(seconds(narrow("0, 8", 2, "efficiency: 80%", job("1, 2"))) == Approx(alone));
}

/// Hosts 1 (at the leaf of host 0), 9, 10 and 11 send to host 12.
std::string incast() { return "background: [{kind: flows, hosts: [1, 9, 10, 11], targets: [12], rate: 100Gbps}]\n"; }

TEST_CASE("under flow control alone a bystander of an incast waits as long as its flows", "[congestion]") {
  // Host 0 sends to 15 over the cable on which host 1 sends to 12. Its flow gets a quarter of the receiver's link; the
  // queue in front of the cable lets the bystander have no more.
  const double alone = seconds(narrow("0, 15", 2, "")), ideal = seconds(narrow("0, 15", 2, "", incast())),
               paused = seconds(narrow("0, 15", 2, "control: none", incast()));
  // Fair shares: a quarter of the receiver's link, and three quarters of the cable are left for two connections.
  CHECK(ideal < 1.35 * alone);
  CHECK(paused > 3.3 * alone);
  CHECK(paused < 4.05 * alone);
  // A bystander that shares nothing with the incast does not notice it.
  CHECK(seconds(narrow("2, 3", 2, "control: none", incast())) == Approx(seconds(narrow("2, 3", 2, ""))));
  // Where senders react, it is nearly as without.
  CHECK(seconds(narrow("0, 15", 2, "control: reactive", incast())) < 1.1 * ideal);
}

TEST_CASE("a job waits for another whose port is paused", "[congestion]") {
  // The ring of 1, 9, 10 and 11 sends nothing to host 12; the bystander is a job as well.
  const std::string beside = job("1, 9");
  CHECK(seconds(narrow("0, 8", 2, "control: none", beside)) ==
        Approx(seconds(narrow("0, 8", 2, "", beside))).epsilon(0.02));
}

std::vector<std::string> warnings(const std::string& text) {
  std::vector<std::string> all;
  const World world = world_of(text);
  for (const Diagnostic& d : world.warnings()) all.push_back(d.path + ": " + d.message);
  return all;
}

bool warns(const std::string& text, const std::string& of) {
  const std::vector<std::string> all = warnings(text);
  return std::any_of(all.begin(), all.end(), [&](const auto& w) { return w.find(of) != std::string::npos; });
}

TEST_CASE("what is not known of flow control alone is said", "[congestion]") {
  CHECK(warnings(narrow("0, 8", 2, "control: none")).size() == warnings(narrow("0, 8", 2, "")).size());
  CHECK(
      warns("node: {profile: hgx-h100-roce}\ncluster: {nodes: 2}\nfabric: {congestion: {control: none}}\n"
            "routing: {kind: ecmp}\nworkload: {kind: training_step, model: {preset: llama3-8b}, "
            "batch: {global: 16, micro: 1}, parallel: {tensor: 8}}\n",
            "single collectives"));
  CHECK(warns(narrow("0, 8", 2, "control: none", incast(), "spray"), "spread over several paths"));
  CHECK(warns(narrow("0, 8", 2, "control: none", incast()), "oversubscribed 8:1"));
  CHECK(warns(narrow("0, 8", 2, "control: none", incast()), "in a circle"));
  CHECK(warnings(narrow("0, 8", 2, "control: reactive", incast())).size() ==
        warnings(narrow("0, 8", 2, "", incast())).size());
}

TEST_CASE("the section is written only if it says something", "[congestion]") {
  const auto text = [](const std::string& congestion) {
    return to_yaml(world_of(narrow("0, 8", 2, congestion)).scenario());
  };
  CHECK(text("").find("congestion") == std::string::npos);
  CHECK(text("control: reactive").find("control: reactive") != std::string::npos);
  CHECK(parse_scenario(text("efficiency: 80%"), "again.yaml").scenario.fabric.congestion.efficiency.value == 0.8);
}

}  // namespace
}  // namespace fabricast
