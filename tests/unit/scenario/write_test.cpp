// The effective scenario reads back to the same scenario.
#include <catch2/catch.hpp>

#include "fabricast/core/names.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {
namespace {

const std::string head =
    "fabricast: 1\nnode: {gpu: h100-sxm}\ncluster: {nodes: 4}\nworkload: {collective: all_reduce}\n";

std::string effective(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return to_yaml(parse_scenario(text, "s.yaml", overrides).scenario);
}

void check_round_trip(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const std::string once = effective(text, overrides);
  INFO(once);
  CHECK(effective(once) == once);
}

TEST_CASE("every GPU, profile, topology and routing reads back", "[scenario]") {
  for (const auto& [name, gpu] : shipped_hardware().gpus) check_round_trip(head, {"node.gpu=" + name});
  for (const auto& [name, preset] : shipped_hardware().nodes)
    check_round_trip("fabricast: 1\nnode: {profile: " + name + "}\ncluster: {nodes: 2}\nworkload: {}\n");
  for (const Topology& topology : topologies())
    if (topology.name != "file") check_round_trip(head + "fabric: {kind: " + std::string(topology.name) + "}\n");
  for (const RoutingPolicy& policy : routing_policies())
    if (policy.name != "lft") check_round_trip(head + "routing: {kind: " + std::string(policy.name) + "}\n");
}

TEST_CASE("the site, prices, planes and ports given by hand read back", "[scenario]") {
  check_round_trip(head + R"(prices: prices.yaml
site:
  nodes_per_rack: 3
  rack_power: 60kW
  leaves: node_rack
  slack: 5%
  cables: [{medium: acc, up_to: 5m}, {medium: single_mode, up_to: 1.5km}]
  spare_nodes: 2
  pue: 1.1
fabric: {kind: rail_only, switch: {ports: 128}, planes: 2, breakout: 2, leaf_up: 60, spine_up: 8}
)");
  CHECK(parse_scenario(head, "s.yaml").scenario.site.cables.size() == 4);
  CHECK_THROWS_WITH(parse_scenario(head + "site: {cables: []}\n", "s.yaml"), Catch::Contains("the list is empty"));
  CHECK_THROWS_WITH(parse_scenario(head + "site: {cables: [{up_to: 5m}, {up_to: 3m}]}\n", "s.yaml"),
                    Catch::Contains("is not longer than"));
}

TEST_CASE("every key reads back", "[scenario]") {
  check_round_trip(R"(fabricast: 1
name: "a: b # c"
node:
  profile: dgx-a100
  memory: 40GB
  memory_rate: 1555.2GBps
  power: 287.5W
  gpus: 4
  nics: {count: 4, rate: 123.4Gbps, link: roce, numa: remote}
  gdr: false
  cpu: intel
  sockets: 1
  pcie_switches: 3
cluster: {nodes: 6, size: 12, placement: [11, 3, 5, 7, 0, 1]}
fabric:
  kind: rail_optimized
  switch: {ports: 48, rate: 33.3GBps, latency: 123.45ns}
  cable: 12.5m
  oversubscription: 1.7
  grouping: pod
routing: {kind: ecmp, hash: crc16, fields: [src_ip, src_port], salt: shared, bits: same, seed: 9, seeds: 3}
nccl: {version: "2.21.5", env: {NCCL_ALGO: "^ring,tree", NCCL_IB_QPS_PER_CONNECTION: 4, NCCL_PROTO: "LL"}}
workload:
  collective: reduce_scatter
  sizes: [3B, 1536B, 100000B, 1.5GiB]
  harness: {tool: host_timed, ranks_per_process: 2, threads: 3, iterations: 7}
faults:
  - {link: "leaf0-spine1#0", rate: 12.5%, at: 1ms, until: 2ms}
  - {link: node3.nic2, rate: 0}
network: {engine: bound}
)");
  const Scenario again =
      parse_scenario(effective(head + "name: x\n", {"cluster.placement=random", "cluster.seed=77"}), "t.yaml").scenario;
  CHECK(again.cluster.placement == Placement::random);
  CHECK(again.cluster.seed == 77);
  CHECK(again.name == "x");
}

TEST_CASE("other jobs and flows are written as they are read", "[scenario]") {
  const std::string text = R"(fabricast: 1
node: {profile: hgx-h100}
cluster: {nodes: 2, size: 40, taken: [0-3, 9], filled: 30%, filled_seed: 5, placement: topology_aware}
workload: {collective: all_reduce, sizes: [1MiB]}
jobs:
- {name: a, nodes: 2, placement: [30, 31], workload: {collective: alltoall, size: 3MiB, duty: 25%}}
- {nodes: 4, placement: random, seed: 4, workload: {kind: training_step, model: {preset: llama2-7b}, batch: {global: 64}}}
background:
- {kind: checkpoint_write, job: a, targets: [38-39], total: 3GBps, duty: 0.5, connections: 3}
- {name: r, hosts: [1, 2], targets: [37], rate: 1GBps, network: own}
)";
  const Scenario s = parse_scenario(text, "t.yaml").scenario;
  CHECK(s.jobs[1].name == "job2");
  CHECK(s.background[0].name == "checkpoint_write1");
  CHECK(s.jobs[0].order == std::vector<int>{30, 31});
  const std::string written = to_yaml(s);
  CHECK(to_yaml(parse_scenario(written, "t.yaml").scenario) == written);
  const Scenario moved =
      parse_scenario(written, "t.yaml", {"jobs[1].placement=[20, 21, 22, 23]", "jobs[0].workload.duty=1"}).scenario;
  CHECK(moved.jobs[1].placement == Placement::list);
  CHECK(moved.jobs[1].order == std::vector<int>{20, 21, 22, 23});
}

TEST_CASE("names that YAML would parse as something else", "[scenario]") {
  for (const std::string name : {"~",
                                 "null",
                                 "Null",
                                 "NULL",
                                 "true",
                                 "123",
                                 "1e3",
                                 "-",
                                 "a: b",
                                 "# x",
                                 "'q'",
                                 "\"q\"",
                                 "*a",
                                 "&a",
                                 "back\\slash",
                                 "tab\there",
                                 "line\nbreak",
                                 "trailing ",
                                 "\xc3\xa9t\xc3\xa9",
                                 ".5",
                                 "[x]",
                                 "@x"}) {
    Scenario s = parse_scenario(head, "s.yaml").scenario;
    s.name = name;
    INFO(to_yaml(s));
    CHECK(parse_scenario(to_yaml(s), "t.yaml").scenario.name == name);
  }
}

TEST_CASE("every default is shown", "[scenario]") {
  const std::string text = effective(head);
  for (const char* line :
       {"fabricast: 1\n", "  gpu: \"h100-sxm\"\n", "  gpus: 8\n", "    rate: 400Gbps\n", "  gdr: auto\n",
        "  kind: rail_optimized\n", "  cable: 20m\n", "  oversubscription: 1.0\n", "  kind: adaptive\n", "  from: 8B\n",
        "  to: 8GiB\n", "  factor: 2.0\n", "    tool: nccl_tests\n", "  engine: flow\n"}) {
    INFO(line);
    CHECK_THAT(text, Catch::Contains(line));
  }
}

}  // namespace
}  // namespace fabricast
