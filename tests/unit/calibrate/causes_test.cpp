// Every cause that `check` tries: on a cluster that may have it, its symptoms run and show; on one that cannot, there
// are none.
#include <catch2/catch.hpp>
#include <set>

#include "fabricast/calibrate/check.hpp"

namespace fabricast {
namespace {

/// A cause, a cluster that may have it, and one that cannot (empty: every cluster may).
struct Place {
  Cause cause;
  std::string_view there, not_there;
};

constexpr std::string_view one_host = "node: {profile: hgx-h100}\ncluster: {nodes: 1}\n";
constexpr std::string_view one_gpu = "node: {gpu: h100-sxm, gpus: 1, intranode: none}\ncluster: {nodes: 4}\n";
constexpr std::string_view two_hosts = "node: {profile: hgx-h100}\ncluster: {nodes: 2}\n";
constexpr std::string_view leaves =
    "node: {profile: hgx-h100}\ncluster: {nodes: 4}\nfabric: {kind: fat_tree, switch: {ports: 16}}\n";
constexpr std::string_view thin_rails =
    "node: {profile: hgx-h100}\ncluster: {nodes: 16}\n"
    "fabric: {kind: rail_optimized, switch: {ports: 16}, oversubscription: 4}\n";
constexpr std::string_view no_rdma = "node: {profile: hgx-h100, nics: {link: socket}}\ncluster: {nodes: 2}\n";
constexpr std::string_view rack = "node: {profile: gb200-nvl72}\ncluster: {nodes: 4}\nnvlink_domain: {nodes: 4}\n";
constexpr std::string_view cards =
    "node: {gpu: a100-pcie, gpus: 8, intranode: pcie, pcie_switches: 4, nics: {count: 4}}\ncluster: {nodes: 2}\n";
constexpr std::string_view root_ports =
    "node: {gpu: a100-pcie, gpus: 8, intranode: pcie, pcie_switches: 0, nics: {count: 4}}\ncluster: {nodes: 2}\n";
constexpr std::string_view trees_in_switches =
    "node: {profile: hgx-h100}\ncluster: {nodes: 4}\nnccl: {env: {NCCL_COLLNET_ENABLE: 1}}\n";
constexpr std::string_view one_channel =
    "node: {profile: hgx-h100}\ncluster: {nodes: 2}\nnccl: {env: {NCCL_MAX_CTAS: 1}}\n";
constexpr std::string_view slowest = "node: {profile: hgx-h100, clock: 5%}\ncluster: {nodes: 2}\n";
constexpr std::string_view old = "node: {profile: hgx-h100}\ncluster: {nodes: 2}\nnccl: {version: \"2.21\"}\n";

constexpr std::array places = {
    Place{Cause::no_gdr, two_hosts, one_host},
    Place{Cause::sockets, two_hosts, no_rdma},
    Place{Cause::slow_nic, two_hosts, one_host},
    Place{Cause::numa_mismatch, two_hosts, one_host},
    Place{Cause::ecmp_collision, leaves, one_host},
    Place{Cause::pxn_off, thin_rails, one_host},
    Place{Cause::nvls_off, one_host, cards},
    Place{Cause::sharp_off, trees_in_switches, two_hosts},
    Place{Cause::algorithm_forced, two_hosts, {}},
    Place{Cause::protocol_forced, two_hosts, {}},
    Place{Cause::too_few_channels, two_hosts, one_channel},
    Place{Cause::fewer_nics, two_hosts, one_host},
    Place{Cause::oversubscription, leaves, one_host},
    Place{Cause::degraded_pcie, two_hosts, one_host},
    Place{Cause::no_p2p, one_host, one_gpu},
    Place{Cause::no_p2p, cards, one_gpu},
    Place{Cause::acs, two_hosts, root_ports},
    Place{Cause::acs, cards, one_host},
    Place{Cause::vm_topology, two_hosts, root_ports},
    Place{Cause::one_process, one_host, one_gpu},
    Place{Cause::no_mnnvl, rack, two_hosts},
    Place{Cause::power_cap, one_host, slowest},
    Place{Cause::host_cost, one_host, {}},
    Place{Cause::host_cost, two_hosts, {}},
    Place{Cause::congested_fabric, leaves, one_host},
    Place{Cause::straggler, one_host, {}},
    Place{Cause::straggler, two_hosts, {}},
    Place{Cause::data_corruption, one_host, {}},
    Place{Cause::data_corruption, two_hosts, {}},
    Place{Cause::known_regression, old, two_hosts},
};

std::vector<ForecastRow> rows_of(const ScenarioChanges& changes, CollectiveOp op, std::vector<std::string> set) {
  set.push_back("workload.collective=" + std::string(name_of(op)));
  Scenario made = changes.with(set);
  set_sizes(made, {1 << 10, 1 << 20, 1 << 28});
  return run_forecast(build_world(std::move(made))).rows;
}

Scenario scenario_of(std::string_view text) {
  return parse_scenario("fabricast: 1\n" + std::string(text) + "workload: {sizes: [1KiB, 1MiB, 256MiB]}\n", "s.yaml")
      .scenario;
}

TEST_CASE("the table of causes is in the order of Cause, and each cause is in this test", "[calibrate]") {
  std::set<Cause> tried{Cause::healthy, Cause::none_of_these};
  for (const Place& place : places) tried.insert(place.cause);
  for (std::size_t k = 0; k < cause_kinds().size(); ++k) {
    INFO(name_of(cause_kinds()[k].cause));
    CHECK(static_cast<std::size_t>(cause_kinds()[k].cause) == k);
    CHECK(tried.contains(cause_kinds()[k].cause));
    CHECK((cause_kinds()[k].prior > 0 || cause_kinds()[k].cause == Cause::none_of_these));
    CHECK((k == 0 || !cause_kinds()[k].confirm.empty()));
  }
}

TEST_CASE("symptoms of a cause run, and one of them slows some size by 2 % or more", "[calibrate]") {
  for (const Place& place : places) {
    const Scenario scenario = scenario_of(place.there);
    const ScenarioChanges changes(scenario);
    const auto symptoms = kind_of(place.cause).symptoms(build_world(scenario));
    INFO(name_of(place.cause) << " at\n" << place.there);
    CHECK_FALSE(symptoms.empty());
    double most = 0;
    for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::alltoall}) {
      const auto healthy = rows_of(changes, op, {});
      for (const Symptom& symptom : symptoms) {
        INFO(symptom.what);
        const auto rows = rows_of(changes, op, symptom.set);
        REQUIRE(rows.size() == healthy.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const Seconds time = symptom.quantile >= 1 ? rows[i].time_worst : rows[i].time_p95;
          most = std::max(most, (symptom.quantile > 0.5 ? time : rows[i].time) / healthy[i].time);
        }
      }
    }
    CHECK(most >= 1.02);
  }
}

TEST_CASE("a cause has no symptom on a cluster that cannot have it", "[calibrate]") {
  for (const Place& place : places) {
    if (place.not_there.empty()) continue;
    INFO(name_of(place.cause) << " at\n" << place.not_there);
    CHECK(kind_of(place.cause).symptoms(build_world(scenario_of(place.not_there))).empty());
  }
}

TEST_CASE("symptoms keep the faults of the scenario", "[calibrate]") {
  const Scenario scenario =
      scenario_of(std::string(two_hosts) + "faults: [{link: node1.nic3, rate: 20%, at: 1ms, until: 2ms}]\n");
  for (const Cause cause : {Cause::slow_nic, Cause::straggler, Cause::degraded_pcie})
    for (const Symptom& symptom : kind_of(cause).symptoms(build_world(scenario))) {
      if (!symptom.set.front().starts_with("faults=")) continue;
      const Scenario made = ScenarioChanges(scenario).with(symptom.set);
      REQUIRE(made.faults.size() >= 2);
      CHECK(made.faults[0].link == "node1.nic3");
      CHECK(made.faults[0].rate.value == 0.2);
      CHECK(made.faults[0].until.value == 2e-3);
    }
}

TEST_CASE("a delay per call is added at every size", "[calibrate]") {
  const Scenario scenario = scenario_of(two_hosts);
  const ScenarioChanges changes(scenario);
  const auto usual = rows_of(changes, CollectiveOp::all_reduce, {});
  const auto slow = rows_of(changes, CollectiveOp::all_reduce, {"node.call_delay=15us"});
  for (std::size_t i = 0; i < usual.size(); ++i)
    CHECK((slow[i].time - usual[i].time).value == Catch::Detail::Approx(15e-6).epsilon(1e-6));
  // Four hosts' chain of hops over the network takes each hop's delay at least once.
  const auto far = rows_of(changes, CollectiveOp::all_reduce, {"node.nics.delay=10us"});
  for (std::size_t i = 0; i + 1 < usual.size(); ++i) CHECK(far[i].time - usual[i].time > Seconds{9e-6});
}

}  // namespace
}  // namespace fabricast
