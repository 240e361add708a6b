#include "fabricast/scenario/world.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch.hpp>

#include <numeric>

#include "fabricast/collective/peers.hpp"
#include "fabricast/protocol/costs.hpp"

namespace fabricast {
namespace {

const std::string head = "fabricast: 1\nworkload: {collective: all_reduce}\n";

World world_of(const std::string& text) { return build_world(parse_scenario(head + text, "s.yaml").scenario); }

TEST_CASE("placements on the fabric", "[scenario]") {
  const auto placement = [](const std::string& cluster) {
    return world_of("node: {}\ncluster: {" + cluster + "}\n").planner().comm.placement;
  };
  using Hosts = std::vector<std::uint32_t>;
  CHECK(placement("nodes: 3") == Hosts{0, 1, 2});
  CHECK(placement("nodes: 3, placement: [5, 0, 2]") == Hosts{5, 0, 2});
  const Hosts random = placement("nodes: 40, size: 50, placement: random, seed: 3");
  CHECK(random.size() == 40);
  CHECK(random == placement("nodes: 40, size: 50, placement: random, seed: 3"));
  CHECK(random != placement("nodes: 40, size: 50, placement: random, seed: 4"));
  Hosts sorted = random;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  CHECK(sorted.back() < 50);
  Hosts all = placement("nodes: 50, placement: random");
  std::sort(all.begin(), all.end());
  Hosts expected(50);
  std::iota(expected.begin(), expected.end(), 0U);
  CHECK(all == expected);
}

TEST_CASE("the fabric is as large as the cluster, and built only if needed", "[scenario]") {
  CHECK(world_of("node: {}\ncluster: {nodes: 1}\n").fabric() == nullptr);
  CHECK(world_of("node: {}\ncluster: {nodes: 1}\nfaults: [{link: leaf0, rate: 0}]\n").fabric() != nullptr);
  const auto world = world_of("node: {}\ncluster: {nodes: 3, size: 33}\n");
  CHECK(world.fabric()->nodes() == 33);
  CHECK(world.fabric()->ports_per_node() == 8);
  CHECK(world.fabric()->switches_in(Tier::leaf) == 16);
  CHECK(world.planner().comm.ranks() == 24);
}

TEST_CASE("hosts of one NVLink domain are one node of NCCL", "[scenario]") {
  const auto world = world_of("node: {profile: gb200-tray}\nnvlink_domain: {nodes: 9}\ncluster: {nodes: 18}\n");
  const Communicator& comm = world.planner().comm;
  CHECK(comm.nodes() == 2);
  CHECK(comm.gpus() == 36);
  CHECK(comm.hosts_per_node == 9);
  CHECK(comm.node.nics == 36);
  CHECK(world.fabric()->ports_per_node() == 4);
  CHECK(world.fabric()->nodes() == 18);
  CHECK(comm.endpoint(1, 5, 4) == 10 * 4 + 1);  // second domain, second host, second NIC
}

TEST_CASE("a job is spread evenly over the fewest NVLink domains that hold it", "[scenario]") {
  const auto world = [](const std::string& nodes) {
    return world_of("node: {profile: gb200-tray}\nnvlink_domain: {nodes: 18}\ncluster: {nodes: " + nodes + "}\n");
  };
  const auto half = world("32");
  CHECK(half.planner().comm.hosts_per_node == 16);
  CHECK(half.planner().comm.nodes() == 2);
  CHECK(half.planner().comm.ranks() == 128);
  CHECK(half.warnings().empty());
  CHECK(world("48").planner().comm.nodes() == 3);
  CHECK(world("36").planner().comm.hosts_per_node == 18);
  CHECK(world("5").planner().comm.hosts_per_node == 5);
  // 19 hosts are forecast as two of ten.
  const auto uneven = world("19");
  CHECK(uneven.planner().comm.hosts_per_node == 10);
  CHECK(uneven.planner().comm.nodes() == 2);
  REQUIRE(uneven.warnings().size() == 1);
  CHECK_THAT(uneven.warnings()[0].message, Catch::Contains("2 domains of 10: 20 hosts"));
}

TEST_CASE("GPUs without shared memory and PCIe are separate nodes, each with its NIC", "[scenario]") {
  const std::string off = "nccl: {version: \"2.28\", env: {NCCL_P2P_DISABLE: 1, NCCL_SHM_DISABLE: 1}}\n";
  const auto world = world_of("node: {gpu: rtx6000d, nics: {link: roce}}\ncluster: {nodes: 2}\n" + off);
  const Communicator& comm = world.planner().comm;
  CHECK(comm.nodes() == 16);
  CHECK(comm.ranks() == 16);
  CHECK(comm.gpus() == 1);
  CHECK(world.fabric()->nodes() == 2);
  CHECK(world.fabric()->ports_per_node() == 8);
  for (std::uint32_t node = 0; node < 16; ++node) {
    CHECK(comm.endpoint(node, 0, 8) == node);
    CHECK(comm.has_host(node, node / 8));
  }
  // Fewer NICs are shared, by GPUs beside each other; one host has a fabric, too.
  const auto shared = world_of("node: {gpu: rtx6000d, nics: {count: 2, link: roce}}\ncluster: {nodes: 1}\n" + off);
  CHECK(shared.planner().comm.nodes() == 8);
  REQUIRE(shared.fabric());
  for (std::uint32_t node = 0; node < 8; ++node) CHECK(shared.planner().comm.endpoint(node, 0, 2) == node / 4);
  CHECK_THROWS_WITH(world_of("node: {gpu: rtx6000d, nics: {count: 0}}\ncluster: {nodes: 1}\n" + off),
                    Catch::Contains("no NICs to connect them"));
}

TEST_CASE("in an NVLink domain a GPU sends by a NIC of its own host", "[scenario]") {
  const auto world = world_of("node: {profile: gb200-tray}\nnvlink_domain: {nodes: 9}\ncluster: {nodes: 18}\n");
  // GPU 6 is the third of the second host, GPU 33 the second of the ninth: rails 2 and 1.
  CHECK(sending_nic(world.planner().comm, 6, 33) == 5);
  CHECK(sending_nic(world.planner().comm, 33, 6) == 34);
  CHECK(sending_nic(world.planner().comm, 6, 6) == 6);
}

TEST_CASE("faults become segments of time", "[scenario]") {
  const auto world = world_of(
      "node: {}\ncluster: {nodes: 2}\n"
      "faults: [{link: node0.nic3, rate: 50%, at: 1ms, until: 3ms}, {link: leaf3, rate: 0, at: 2ms}, "
      "{link: node1.gpu0-pcie0, rate: 10%}]\n");
  const auto& segments = world.setup().segments;
  REQUIRE(segments.size() == 4);
  const std::uint32_t up = Clos::endpoint_up(3);
  CHECK(segments[0].begin.value == 0);
  CHECK(segments[0].links.factor(up) == 1);
  CHECK(segments[1].begin.value == Approx(1e-3));
  CHECK(segments[1].links.factor(up) == .5);
  CHECK(segments[2].begin.value == Approx(2e-3));
  CHECK(segments[2].links.factor(up) == 0);  // the worst counts
  CHECK(segments[3].begin.value == Approx(3e-3));
  CHECK(segments[3].links.factor(up) == 0);
  for (const NetworkSegment& s : segments) {
    REQUIRE(s.inside.size() == 2);  // both directions
    CHECK(s.inside[0].node == 1);
    CHECK(s.inside[0].factor == Approx(.1));
  }
  CHECK_THROWS_WITH(world_of("node: {}\ncluster: {nodes: 2}\nfaults: [{link: leaf99, rate: 0}]\n"),
                    Catch::Contains("faults[0].link: there is no link or component 'leaf99'"));
}

TEST_CASE("inconsistent scenarios", "[scenario]") {
  CHECK_THROWS_WITH(world_of("node: {nics: {count: 0}}\ncluster: {nodes: 2}\n"),
                    Catch::Contains("no NICs to connect them"));
  CHECK_THROWS_WITH(world_of("node: {gpu: gh200}\ncluster: {nodes: 1}\n"),
                    Catch::Contains("a single GPU cannot communicate"));
  const auto world = world_of("node: {}\ncluster: {nodes: 2}\nnccl: {env: {NCCL_ALGO: pat}}\n");
  REQUIRE(world.warnings().size() == 1);
  CHECK_THAT(world.warnings()[0].message, Catch::Contains("leave no algorithm"));
}

TEST_CASE("from NCCL 2.24 on, excluding everything is an error if the version is stated", "[scenario]") {
  const auto choosing = [](const std::string& nccl) { return "node: {}\ncluster: {nodes: 2}\nnccl: {" + nccl + "}\n"; };
  CHECK_THROWS_WITH(world_of(choosing("version: \"2.24\", env: {NCCL_ALGO: pat}")),
                    Catch::Contains("no algorithm and protocol available for all_reduce"));
  CHECK_THROWS_WITH(world_of(choosing("version: \"2.28\", env: {NCCL_ALGO: nvlstree, NCCL_PROTO: LL}")),
                    Catch::Contains("NCCL 2.28 fails with this setting"));
  CHECK(world_of(choosing("version: \"2.23\", env: {NCCL_ALGO: pat}")).warnings().size() == 1);
  CHECK(world_of(choosing("env: {NCCL_ALGO: pat}")).warnings().size() == 1);  // 2.27, but only by the GPU
  CHECK(world_of(choosing("version: \"2.28\", env: {NCCL_ALGO: ring}")).warnings().empty());
}

TEST_CASE("the version that is forecast", "[scenario]") {
  const auto version = [](const std::string& text) {
    return world_of("node: {gpu: h100-sxm}\ncluster: {nodes: 2}\nnccl: {version: \"" + text + "\"}\n")
        .planner()
        .settings.version;
  };
  CHECK(version("2.18") == NcclVersion{2, 18});
  CHECK(version("unknown") == NcclVersion{2, 27});    // usual with H100
  CHECK(version("2.20-2.28") == NcclVersion{2, 27});  // which is among them
  CHECK(version("2.18-2.21.5") == NcclVersion{2, 21, 5});
}

TEST_CASE("variables that join hosts or separate them", "[scenario]") {
  const auto nodes = [](const std::string& env) {
    return world_of("node: {profile: gb200-tray}\nnvlink_domain: {nodes: 4}\ncluster: {nodes: 8}\nnccl: {env: {" + env +
                    "}}\n")
        .planner()
        .comm.nodes();
  };
  CHECK(nodes("") == 2);
  CHECK(nodes("NCCL_MNNVL_ENABLE: 1") == 2);
  CHECK(nodes("NCCL_MNNVL_ENABLE: 0") == 8);
  CHECK(nodes("NCCL_P2P_DISABLE: 1") == 8);
  CHECK_THROWS_WITH(world_of("node: {}\ncluster: {nodes: 2}\nnccl: {env: {NCCL_MNNVL_ENABLE: 1}}\n"),
                    Catch::Contains("each host has its own NVLink domain"));
}

TEST_CASE("NICs by name in each host of a domain", "[scenario]") {
  const auto world = world_of(
      "node: {profile: gb200-tray}\nnvlink_domain: {nodes: 2}\ncluster: {nodes: 4}\n"
      "nccl: {env: {NCCL_IB_HCA: \"mlx5_1,mlx5_3\"}}\n");
  const Communicator& comm = world.planner().comm;
  CHECK(comm.node.port_of_nic == std::vector<int>{1, 3, 5, 7});
  CHECK(world.fabric()->ports_per_node() == 4);
  CHECK(comm.endpoint(1, 2, 4) == 3 * 4 + 1);  // second domain, its second host, that host's first of two
}

TEST_CASE("CollNet has channels only if switches reduce", "[scenario]") {
  const auto channels = [](const std::string& enable, const std::string& generation) {
    return world_of("node: {profile: dgx-a100}\ncluster: {nodes: 4}\nsharp: {generation: " + generation +
                    "}\nnccl: {env: {NCCL_COLLNET_ENABLE: " + enable + "}}\n")
        .planner()
        .comm.channels;
  };
  CHECK(channels("0", "v2") == 16);
  CHECK(channels("1", "none") == 16);
  CHECK(channels("1", "v2") == 24);  // half as many again [NCCL-connect]
}

TEST_CASE("messages that need order use static paths", "[scenario]") {
  const auto policy = [](const std::string& link, const std::string& env) {
    return world_of("node: {nics: {link: " + link +
                    "}}\ncluster: {nodes: 2}\nrouting: {kind: adaptive}\nnccl: {env: {" + env + "}}\n")
        .setup()
        .policy->name;
  };
  CHECK(policy("infiniband", "") == "adaptive");
  CHECK(policy("infiniband", "NCCL_IB_ADAPTIVE_ROUTING: 0") == "static");
  CHECK(policy("infiniband", "NCCL_IB_AR_THRESHOLD: 8192") == "adaptive");
  CHECK(policy("infiniband", "NCCL_IB_AR_THRESHOLD: 1048576") == "static");
  CHECK(policy("infiniband", "NCCL_IB_AR_THRESHOLD: 1048576, NCCL_BUFFSIZE: 8388608") == "adaptive");
  CHECK(policy("roce", "NCCL_IB_ADAPTIVE_ROUTING: 0") == "adaptive");  // switches do it without the host
}

TEST_CASE("staging on the sender's side alone is half of the path", "[scenario]") {
  const auto hop = [](const std::string& rest) {
    const auto world = world_of("node: {gpu: a100-sxm" + rest);
    const Plan plan =
        plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 20, Algorithm::ring, Protocol::ll);
    return protocol_costs(world.planner().comm, plan).hop_network.value;
  };
  const double staged = shipped_hardware().networks.find("infiniband")->second.staged_hop.us().value;
  const double direct = hop("}\ncluster: {nodes: 2}\n");
  CHECK(hop(", gdr: false}\ncluster: {nodes: 2}\n") == Approx(direct + staged));
  CHECK(hop("}\ncluster: {nodes: 2}\nnccl: {env: {NCCL_NET_GDR_READ: 0}}\n") == Approx(direct + staged / 2));
}

TEST_CASE("on EFA the OFI plugin's settings apply unless the user sets them", "[scenario]") {
  const auto settings = [](const std::string& node, const std::string& nccl = "") {
    return world_of("node: {" + node + "}\ncluster: {nodes: 4}\n" + (nccl.empty() ? "" : "nccl: {" + nccl + "}\n"))
        .planner()
        .settings;
  };
  const NcclSettings p5 = settings("profile: p5");
  CHECK(p5.buffer_size == Bytes{8 << 20});
  CHECK(p5.p2p_net_chunk == Bytes{512 << 10});
  CHECK(p5.nvls_chunk == Bytes{512 << 10});
  CHECK(p5.nvlstree_chunk == Bytes{512 << 10});
  CHECK(p5.nvls_enable == 2);
  const NcclSettings given = settings("profile: p5", "env: {NCCL_BUFFSIZE: 2097152}");
  CHECK(given.buffer_size == Bytes{2 << 20});
  CHECK(given.p2p_net_chunk == Bytes{512 << 10});
  const NcclSettings p4d = settings("gpu: a100-sxm, nics: {count: 4, rate: 100Gbps, link: efa}", "version: 2.27.3");
  CHECK(p4d.buffer_size == Bytes{8 << 20});
  CHECK_FALSE(p4d.nvls_chunk);
  CHECK(settings("profile: p5", "version: 2.18.3").nvls_enable == 0);
  CHECK(settings("profile: p5", "version: 2.18.5").nvls_enable == 2);
  CHECK(settings("profile: p5", "version: 2.18.3, env: {NCCL_NVLS_ENABLE: 1}").nvls_enable == 1);
  // Not on another network, nor where data go by sockets.
  CHECK_FALSE(settings("profile: hgx-h100").buffer_size);
  CHECK_FALSE(settings("profile: p5", "env: {NCCL_NET: Socket}").buffer_size);
}

TEST_CASE("variables of providers apply unless the user sets them", "[scenario]") {
  const auto world = [](int nics, const std::string& nccl = "") {
    return world_of(
        fmt::format("node: {{gpu: h100-sxm, nics: {{count: {}, rate: 200Gbps, link: gpudirect_tcpx}}}}\n"
                    "cluster: {{nodes: 2}}\n{}",
                    nics, nccl));
  };
  const auto choice = [](const World& w, std::int64_t bytes) {
    const Plan plan = plan_collective(w.planner(), CollectiveOp::all_reduce, bytes);
    return std::pair(plan.algorithm, plan.protocol);
  };
  // A3 Mega: Simple alone, no NVLS, buffers of 8 MiB, so slots of 1 MiB.
  const auto mega = world(8);
  CHECK(choice(mega, 1024) == std::pair(Algorithm::tree, Protocol::simple));
  CHECK(choice(mega, 1 << 30) == std::pair(Algorithm::tree, Protocol::simple));
  CHECK(mega.planner().settings.buffer_size == Bytes{8 << 20});
  CHECK(mega.provider().variables.size() == 9);
  // A3 High: rings.
  const auto high = world(4);
  CHECK(choice(high, 1024) == std::pair(Algorithm::ring, Protocol::simple));
  CHECK_FALSE(high.planner().settings.buffer_size);
  const auto given = world(8, "nccl: {env: {NCCL_PROTO: LL, NCCL_NVLS_ENABLE: 2}}\n");
  CHECK(choice(given, 1024) == std::pair(Algorithm::tree, Protocol::ll));
  CHECK(given.provider().variables.size() == 7);
  const auto without = world(8, "nccl: {provider_env: false}\n");
  CHECK(choice(without, 1 << 30).first == Algorithm::nvlstree);
  CHECK(without.provider().variables.empty());
  CHECK(world_of("node: {}\ncluster: {nodes: 2}\n").provider().variables.empty());
}

TEST_CASE("variables of a machine's provider apply only to that machine", "[scenario]") {
  const auto world = [](const std::string& node, const std::string& nccl = "") {
    return world_of("node: {" + node + "}\ncluster: {nodes: 2}\n" + nccl);
  };
  const auto ultra = world("profile: a3-ultra");
  CHECK(ultra.provider().from == "Google's gIB");
  CHECK(ultra.planner().settings.qps_per_connection == 4);
  CHECK(ultra.planner().settings.nvls_chunk == Bytes{512 << 10});
  const auto given = world("profile: a3-ultra", "nccl: {env: {NCCL_IB_QPS_PER_CONNECTION: 2}}\n");
  CHECK(given.planner().settings.qps_per_connection == 2);
  CHECK_FALSE(given.provider().variables.contains("NCCL_IB_QPS_PER_CONNECTION"));
  CHECK(given.planner().settings.nvls_chunk == Bytes{512 << 10});
  const auto without = world("profile: a3-ultra", "nccl: {provider_env: false}\n");
  CHECK(without.provider().variables.empty());
  CHECK_FALSE(without.planner().settings.nvls_chunk);
  // On another network, or with another GPU, it is another machine.
  CHECK(world("profile: a3-ultra, nics: {link: infiniband}").provider().variables.empty());
  CHECK(world("profile: a3-ultra, gpu: h100-sxm").provider().variables.empty());
  // Machine and plugin together.
  const auto p4d = world("profile: p4d", "nccl: {version: 2.27.3}\n");
  CHECK(p4d.provider().from == "the OFI plugin");
  CHECK(p4d.provider().variables.at("NCCL_PROTO") == "Simple");
  CHECK(p4d.provider().variables.at("NCCL_BUFFSIZE") == "8388608");
  CHECK(plan_collective(p4d.planner(), CollectiveOp::all_reduce, 1024).protocol == Protocol::simple);
  CHECK(p4d.scenario().node.spec.memory == Bytes{std::int64_t{40} << 30});
}

TEST_CASE("trays of a rack without an NVLink domain are warned of", "[scenario]") {
  const auto warnings = [](const std::string& node, const std::string& more) {
    return build_world(parse_scenario(head + "node: " + node + "\ncluster: {nodes: 18}\n" + more, "s.yaml").scenario)
        .warnings();
  };
  const auto found = warnings("{profile: gb200-tray}", "");
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0].message, Catch::Contains("usually share an NVLink domain of 18"));
  CHECK(warnings("{profile: gb200-tray}", "nvlink_domain: {nodes: 1}\n").empty());
  CHECK(warnings("{profile: gb200-nvl72}", "").empty());
  CHECK(warnings("{profile: hgx-h100}", "").empty());
}

TEST_CASE("every shipped machine can be built, and all its provider's variables are known", "[scenario]") {
  for (const auto& [name, preset] : shipped_hardware().nodes) {
    INFO(name);
    const std::string nodes = std::to_string(preset.nvlink_domain > 1 ? 2 * preset.nvlink_domain : 2);
    const ReadResult read =
        parse_scenario(head + "node: {profile: " + name + "}\ncluster: {nodes: " + nodes + "}\n", "s.yaml");
    CHECK(read.warnings.empty());
    CHECK(read.scenario.nvlink_domain.nodes == preset.nvlink_domain);
    const auto world = build_world(read.scenario);
    CHECK(world.planner().comm.nodes() == 2);
    CHECK(world.warnings().size() == name.ends_with("-tray"));  // of a rack, taken one by one
    std::vector<Diagnostic> stated;
    (void)parse_nccl_environment(world.planner().settings.version, preset.env, stated);
    for (const Diagnostic& d : stated) CHECK(d.message.find("no effect") != std::string::npos);
    // It reads back to the same.
    const Scenario again = parse_scenario(to_yaml(read.scenario), "s.yaml").scenario;
    CHECK(to_yaml(again) == to_yaml(read.scenario));
  }
}

TEST_CASE("a variant of a world shares the rest and leaves the original as it was", "[scenario]") {
  World world = world_of("node: {gpu: h100-sxm}\ncluster: {nodes: 4}\nrouting: {kind: ecmp, seeds: 8}\n");
  const Planner* planner = &world.planner();
  NetworkSegment slow = world.setup().segments.front();
  slow.ports = 0.5;
  const World variant = world.with_samples_up_to(3).with_segments({slow}).with_times_only().with_beside(
      {nullptr, std::make_shared<const Background>(), nullptr});
  CHECK(world.samples().count == 8);
  CHECK(world.setup().segments.front().ports == 1);
  CHECK_FALSE(world.setup().times_only);
  CHECK(world.beside().empty());
  CHECK(variant.samples().count == 3);
  CHECK(variant.setup().segments.front().ports == 0.5);
  CHECK(variant.setup().times_only);
  CHECK(variant.beside_in(variant.samples().first_seed + 1) == variant.beside()[1].get());
  CHECK(world.with_samples_up_to(100).samples().count == 8);
  // What both have in common is the same object, and lives as long as either of them.
  world = World();
  CHECK(&variant.planner() == planner);
  CHECK(variant.setup().comm == &planner->comm);
  CHECK(variant.setup().fabric == variant.fabric());
}

TEST_CASE("counts of connections are shared where worlds connect alike", "[scenario]") {
  const std::string two = "node: {gpu: h100-sxm}\ncluster: {nodes: 2}\n";
  const World world = world_of(two), alike = world_of(two + "fabric: {kind: fat_tree, cable: 1km}\n"),
              other = world_of("node: {gpu: h100-sxm}\ncluster: {nodes: 3}\n");
  CHECK(alike.with_counts_of(world_of(two + "fabric: {kind: fat_tree}\n")).setup().counts != alike.setup().counts);
  CHECK(other.with_counts_of(world).setup().counts == other.setup().counts);
}

TEST_CASE("each copy for an NVLS head costs the same", "[scenario]") {
  const auto slice = [](int gpus, const char* buffers) {
    const auto w = build_world(
        parse_scenario(head + fmt::format("node: {{gpu: h100-sxm, gpus: {}}}\ncluster: {{nodes: 1}}\n", gpus), "s.yaml",
                       {fmt::format("workload.buffers={}", buffers)})
            .scenario);
    return protocol_costs(w.planner().comm, plan_collective(w.planner(), CollectiveOp::all_reduce, 1 << 28,
                                                            Algorithm::nvls, Protocol::simple))
        .slice.value;
  };
  const double one = shipped_hardware().architectures.find("hopper")->second.nvls_slice.us().value;
  CHECK(slice(8, "plain") == Approx(8 * one));
  CHECK(slice(6, "plain") == Approx(6 * one));
  CHECK(slice(8, "registered") == Approx(one));
}

}  // namespace
}  // namespace fabricast
