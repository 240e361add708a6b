// What the scenarios of scenarios/ are there to show, held to closed forms. The forms use the rates that the binary
// itself reports for its parts (so that a refit of parameters moves both sides), and leave room for latency, which
// they leave out.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/command_line.hpp"

namespace {

using nlohmann::json;

constexpr std::int64_t GiB8 = std::int64_t{8} << 30;
constexpr double nics = 8, channels = 16;

json json_of(const std::string& words) { return json::parse(fabricast::output_once(words + " --json -")); }

/// Without intervals, which take most of the time and are not looked at here.
json run(const std::string& scenario, const std::string& options = {}) {
  return json_of("run scenarios/" + scenario + ".yaml --no-intervals " + options);
}

json row(const json& forecast, std::int64_t bytes) {
  for (const json& r : forecast.at("rows"))
    if (r.at("bytes") == bytes) return r;
  FAIL("no row of " << bytes << " bytes");
  return {};
}

json large(const std::string& scenario, const std::string& options = {}) { return row(run(scenario, options), GiB8); }

double busbw(const json& r) { return r.at("busbw_gbps"); }

/// Bus bandwidth of another percentile's time than the median's.
double busbw_at(const json& r, const char* percentile) {
  return busbw(r) * r.at("time_us").get<double>() / r.at(percentile).get<double>();
}

/// GB/s of payload of a link, from `inspect fabric`, by the name it has there.
double link_rate(const std::string& scenario, const std::string& name) {
  const std::string text = fabricast::output("inspect fabric scenarios/" + scenario + ".yaml");
  const auto at = text.find(name);
  INFO(name << " in\n" << text);
  REQUIRE(at != std::string::npos);
  const auto end = text.find(" GB/s", at);
  const auto begin = text.find_last_of(' ', end - 1);
  return std::stod(text.substr(begin, end - begin));
}

/// A 400 Gb/s port's payload: 26 bytes of header on 4096 for InfiniBand, 82 for RoCE [FABRICS-2].
constexpr double infiniband_cable = 50 * 4096.0 / 4122, roce_cable = 50 * 4096.0 / 4178;

}  // namespace

TEST_CASE("every scenario runs its sizes, and the forecast grows with them", "[scenarios]") {
  const std::string scenario =
      GENERATE(as<std::string>(), "one_node", "two_nodes", "nodes64_rail_optimized", "nodes64_fat_tree",
               "oversubscription_2", "oversubscription_4", "slow_cable", "gdr_off", "wrong_numa", "nodes2048",
               "alltoall", "nvl72", "sharp", "imported_fabric");
  CAPTURE(scenario);
  const json forecast = json_of("run scenarios/" + scenario + ".yaml");
  double before = 0;
  std::int64_t bytes = 0;
  for (const json& r : forecast.at("rows")) {
    CHECK(r.at("bytes") > bytes);
    CHECK(r.at("time_us") >= before);  // 8 B and 64 B fill one line alike
    bytes = r.at("bytes"), before = r.at("time_us");
  }
  CHECK(bytes == GiB8);
}

TEST_CASE("a node's ring runs at what nccl-tests measures on H100 and H200", "[scenarios]") {
  const json r = large("one_node", "--set nccl.env.NCCL_ALGO=Ring");
  CHECK(r.at("algorithm") == "ring");
  CHECK(r.at("protocol") == "simple");
  CHECK(busbw(r) == Approx(366).epsilon(0.04));  // 363 to 370 GB/s [FABRICS-4]
}

TEST_CASE("small messages take low-latency protocols, large ones Simple", "[scenarios]") {
  for (const char* scenario : {"one_node", "two_nodes", "nodes64_rail_optimized"}) {
    const json rows = run(scenario).at("rows");
    CHECK(rows.front().at("protocol") == "ll");
    CHECK(rows.back().at("protocol") == "simple");
  }
}

TEST_CASE("two nodes are no faster than their NICs and at most a fifth slower", "[scenarios]") {
  const double bound = nics * infiniband_cable;
  const json r = large("two_nodes", "--set nccl.env.NCCL_ALGO=Ring");
  CHECK(busbw(r) < bound);
  CHECK(busbw(r) > 0.8 * bound);
  // The network costs more than NVLink by some microseconds.
  const auto smallest = [](const char* scenario) {
    return run(scenario).at("rows").front().at("time_us").get<double>();
  };
  CHECK(smallest("two_nodes") > smallest("one_node") + 5);
}

TEST_CASE("rails keep ECMP out of the rings' way; whole nodes at a leaf do not", "[scenarios]") {
  const std::string ring = "--set nccl.env.NCCL_ALGO=Ring";
  const json rail = large("nodes64_rail_optimized", ring), fat = large("nodes64_fat_tree", ring);
  // Rails: no draw of the hash differs, and only the NICs or the GPUs bind.
  CHECK(rail.at("time_us_worst") == rail.at("time_us_p5"));
  CHECK(busbw(rail) > 0.75 * nics * roce_cable);
  // Fat tree: in each draw the slowest uplink has k >= 3 of the 16 channels' connections.
  for (const char* percentile : {"time_us_p5", "time_us", "time_us_p95", "time_us_worst"}) {
    const double k = channels * roce_cable / busbw_at(fat, percentile);
    CAPTURE(percentile, k);
    CHECK(k == Approx(std::round(k)).epsilon(0.02));
    CHECK(std::round(k) >= 3);
  }
  CHECK(busbw(fat) < 0.75 * busbw(rail));
  CHECK(fat.at("bottleneck").get<std::string>().find("spine") != std::string::npos);
}

TEST_CASE("oversubscribed leaves give a scattered ring their uplinks' share", "[scenarios]") {
  struct Leaf {
    const char* scenario;
    double nodes, uplinks;
  };
  // 64 ports: up = ceil(64 / (1 + o)), nodes = floor((64 - up) / 8).
  for (const Leaf& leaf : {Leaf{"oversubscription_2", 5, 22}, Leaf{"oversubscription_4", 6, 13}}) {
    CAPTURE(leaf.scenario);
    const json r = large(leaf.scenario);
    // Every node of the fullest leaf sends to another leaf.
    CHECK(busbw(r) == Approx(leaf.uplinks * infiniband_cable / leaf.nodes).epsilon(0.03));
    CHECK(r.at("bottleneck").get<std::string>().ends_with("-spines"));
    // In order, one node of a leaf does, and its 8 NICs find more than 8 uplinks.
    CHECK(busbw(large(leaf.scenario, "--set cluster.placement=in_order")) > 1.4 * busbw(r));
    CHECK(busbw(large(leaf.scenario, "--set fabric.oversubscription=1")) > 1.4 * busbw(r));
  }
}

TEST_CASE("explain tells what would help, and running it so gains as much", "[scenarios]") {
  const auto helps = [](const std::string& scenario) {
    return json_of("explain scenarios/" + scenario + ".yaml --size 8GiB").at("row");
  };
  const auto first_word = [](const json& w) { return w.at("set").at(0).get<std::string>(); };
  for (const auto& [scenario, best] : {std::pair<std::string, std::string>{"slow_cable", "faults=[]"},
                                       {"gdr_off", "node.gdr=true"},
                                       {"ecmp_polarization", "routing={kind: adaptive}"}}) {
    const json r = helps(scenario);
    const json& w = r.at("what_would_help").at(0);
    CAPTURE(scenario, w.dump());
    CHECK(first_word(w) == best);
    std::string options;
    for (const json& word : w.at("set")) options += "--set '" + word.get<std::string>() + "' ";
    const double before = r.at("time_us"), after = large(scenario, options).at("time_us");
    CHECK(w.at("time_us").get<double>() == Approx(after));
    CHECK(w.at("gain").get<double>() == Approx(1 - after / before).epsilon(1e-4));
  }
  for (const json& w : helps("nodes64_rail_optimized").at("what_would_help"))
    CHECK(first_word(w) != "routing={kind: adaptive}");
}

TEST_CASE("more queue pairs spread a connection, and splitting each message over them spreads it sooner",
          "[scenarios]") {
  const auto times = [](const std::string& pairs, const std::string& split) {
    const json r = run("ecmp_collision", "--set nccl.env.NCCL_IB_QPS_PER_CONNECTION=" + pairs +
                                             " --set nccl.env.NCCL_IB_SPLIT_DATA_ON_QPS=" + split +
                                             " --set 'workload.sizes=[64MiB, 8GiB]'");
    return std::pair(row(r, std::int64_t{64} << 20).at("time_us").get<double>(),
                     row(r, GiB8).at("time_us").get<double>());
  };
  const auto one = times("1", "0"), rotate = times("4", "0"), split = times("4", "1");
  CHECK(rotate.second < 0.8 * one.second);
  CHECK(split.second == Approx(rotate.second).epsilon(1e-3));  // the same bytes on the same links in the end
  CHECK(split.first < 0.98 * rotate.first);                    // but a message alone is held up by one path or by all
}

TEST_CASE("ECMP on eight uplinks loses what balls in bins lose", "[scenarios]") {
  const json r = large("ecmp_collision");
  CHECK(r.at("samples") == 64);
  std::vector<double> most;  // connections on the fullest uplink
  for (const char* percentile : {"time_us_p5", "time_us", "time_us_p95", "time_us_worst"}) {
    const double k = channels * roce_cable / busbw_at(r, percentile);
    CAPTURE(percentile, k);
    CHECK(k == Approx(std::round(k)).epsilon(0.02));
    most.push_back(std::round(k));
  }
  // P(no bin above k) for 16 balls in 8 bins, by the exponential generating function, squared for two directions.
  const auto at_most = [](std::size_t k) {
    std::vector<double> routes(17, 0);
    routes[0] = 1;
    for (int bin = 0; bin < 8; ++bin) {
      std::vector<double> next(17, 0);
      for (std::size_t have = 0; have <= 16; ++have)
        for (std::size_t add = 0; add <= k && have + add <= 16; ++add)
          next[have + add] += routes[have] / std::tgamma(add + 1);
      routes = next;
    }
    return std::pow(routes[16] * std::tgamma(17) / std::pow(8.0, 16), 2);
  };
  // The sample's median and tails lie within what 64 draws can stray (0.06 is one sigma at the median).
  CHECK(at_most(static_cast<std::size_t>(most[1])) > 0.5 - 0.19);
  CHECK(at_most(static_cast<std::size_t>(most[1]) - 1) < 0.5 + 0.19);
  CHECK(at_most(static_cast<std::size_t>(most[0]) - 1) < 0.05 + 0.09);
  CHECK(at_most(static_cast<std::size_t>(most[2])) > 0.95 - 0.09);
}

TEST_CASE("polarized hashing leaves a spine one uplink of 32", "[scenarios]") {
  const json polar = large("ecmp_polarization");
  // Per group 32 cables carry the eight NICs of about half its 128 nodes; more than 45 of them in any case.
  CHECK(busbw(polar) < 32 * roce_cable / 45);
  const json salted = large("ecmp_polarization", "--set routing.salt=per_switch"),
             tiers = large("ecmp_polarization", "--set routing.bits=per_tier");
  CHECK(busbw(salted) > 3 * busbw(polar));
  CHECK(busbw(tiers) > 3 * busbw(polar));
  CHECK(polar.at("bottleneck").get<std::string>().find("core") != std::string::npos);
}

TEST_CASE("tables that use half of the uplinks halve an alltoall, and a cable at half width halves it again",
          "[scenarios]") {
  const double cable = 25 * 4096.0 / 4122;  // 200 Gb/s InfiniBand, as above
  const json tables = large("imported_fabric"), even = large("imported_fabric", "--set 'routing={kind: adaptive}'");
  CHECK(tables.at("bottleneck") == "ib-spine-2-ib-leaf-b1#0");
  // Of a buffer, 32 x 16 of 64 x 64 parts go to one leaf of the other row, over four cables: two buffers by each, and one
  // cable has half a rate. Rounds that stay in a row do not overlap with those that leave it.
  const double algbw = tables.at("algbw_gbps");
  CHECK(algbw < 0.5 * cable / 2);
  CHECK(algbw > 0.6 * 0.5 * cable / 2);
  CHECK(busbw(even) == Approx(2 * busbw(tables)).epsilon(0.01));
}

TEST_CASE("a cable at a tenth is named, and slows the ring to a tenth of the NICs", "[scenarios]") {
  const double nic = link_rate("slow_cable", "links of");  // the first class is that of the NICs
  const json r = large("slow_cable");
  CHECK(busbw(r) == Approx(0.1 * nics * nic).epsilon(0.02));
  CHECK(r.at("faults") == json::array({"node3.nic2"}));
  const json explained = json_of("explain scenarios/slow_cable.yaml --size 8GiB").at("row").at("bottleneck");
  CHECK(explained.at("name") == "node3.nic2-leaf2");
  CHECK(explained.at("capacity_gbps").get<double>() == Approx(0.1 * nic).epsilon(1e-3));
  CHECK(explained.at("sharers").size() == 2);  // 16 channels on eight NICs
}

TEST_CASE("a NIC that is away for 20 ms makes the call 20 ms late", "[scenarios]") {
  const double late = large("nic_down_and_back").at("time_us").get<double>() -
                      large("nic_down_and_back", "--set 'faults=[]'").at("time_us").get<double>();
  CHECK(late == Approx(20e3).epsilon(0.01));
}

TEST_CASE("without GDR the PCIe switch's uplink carries each byte twice", "[scenarios]") {
  const double uplink = link_rate("gdr_off", "cpu0-pcie0");
  const json off = large("gdr_off"), on = large("gdr_off", "--set node.gdr=true");
  CHECK(busbw(off) <= nics * uplink / 2 * 1.001);
  CHECK(busbw(off) > 0.85 * nics * uplink / 2);
  CHECK(busbw(on) > 1.2 * busbw(off));
}

TEST_CASE("NICs of the other socket load the link between the sockets", "[scenarios]") {
  const double link = link_rate("wrong_numa", "cpu0-cpu1");
  const json wrong = large("wrong_numa"), right = large("wrong_numa", "--set node.nics.numa=local");
  // Half of the traffic out and half of that in cross it in one direction: once at least, twice at most.
  CHECK(busbw(wrong) <= 2 * link * 1.001);
  CHECK(busbw(wrong) > 0.9 * link);
  CHECK(wrong.at("bottleneck").get<std::string>().find("cpu") != std::string::npos);
  CHECK(busbw(right) > 2 * busbw(wrong));
}

TEST_CASE("latency grows with the logarithm of the nodes, and bandwidth stays", "[scenarios]") {
  const json big = run("nodes2048"), small = run("nodes2048", "--set cluster.nodes=64");
  CHECK(big.at("ranks") == 16384);
  const double latency_big = row(big, 1024).at("time_us"), latency_small = row(small, 1024).at("time_us");
  // A tree: 11 levels against 6.
  CHECK(row(big, 1024).at("algorithm") == "tree");
  CHECK(latency_big / latency_small > 1.2);
  CHECK(latency_big / latency_small < 11.0 / 6);
  // Up and down a tree of heads every NIC sends its bytes twice, as around a ring. Heads with three connections are
  // slower.
  CHECK(row(big, GiB8).at("algorithm") == "nvlstree");
  CHECK(busbw(row(big, GiB8)) <= nics * infiniband_cable * 1.001);
  CHECK(busbw(row(big, GiB8)) > 0.7 * nics * infiniband_cable);
}

TEST_CASE("an alltoall over nodes goes at the rate of a GPU's own NIC", "[scenarios]") {
  const json r = large("alltoall");
  // 120 of 128 messages leave the node.
  const double by_nic = r.at("algbw_gbps").get<double>() * 120 / 128;
  CHECK(by_nic <= infiniband_cable);
  CHECK(by_nic > 0.8 * infiniband_cable);
  CHECK(r.at("algorithm") == "p2p");
}

TEST_CASE("a scatter leaves by all NICs of the root's node, a gather comes in by one", "[scenarios]") {
  // 120 of 128 messages leave the node, or come to it.
  const auto by_nic = [](const char* op) {
    return large("alltoall", std::string("--set workload.collective=") + op).at("algbw_gbps").get<double>() * 120 / 128;
  };
  CHECK(by_nic("gather") <= infiniband_cable);
  CHECK(by_nic("gather") > 0.85 * infiniband_cable);  // NICs reach 0.9 of it in sends and receives
  CHECK(by_nic("scatter") <= nics * infiniband_cable);
  CHECK(by_nic("scatter") > 0.5 * nics * infiniband_cable);
}

TEST_CASE("an alltoall between NVLink domains leaves by each host's own NICs, not across its CPUs", "[scenarios]") {
  // 32 MiB a pair; 216 of 288 ranks are in other domains.
  const std::int64_t bytes = std::int64_t{288} << 25;
  const json r = row(run("nvl72", "--set workload.collective=alltoall --set workload.sizes=[9GiB]"), bytes);
  const double by_nic = r.at("algbw_gbps").get<double>() * 216 / 288;
  CHECK(by_nic <= infiniband_cable);
  CHECK(by_nic > 0.85 * infiniband_cable);
  CHECK(r.at("bottleneck") == "node0.nic0-leaf0");
}

TEST_CASE("switches that reduce take each byte once, and small messages gain nothing", "[scenarios]") {
  const json with = large("sharp"), without = large("sharp", "--set nccl.env.NCCL_COLLNET_ENABLE=0");
  CHECK(with.at("algorithm") == "nvls");
  CHECK(with.at("algbw_gbps") <= nics * infiniband_cable);
  // A ring sends nearly every byte twice.
  CHECK(without.at("algbw_gbps") <= nics * infiniband_cable / (2 * 511.0 / 512));
  CHECK(with.at("algbw_gbps") > 1.2 * without.at("algbw_gbps").get<double>());
}

TEST_CASE("an NVLink domain of 18 hosts is one node to NCCL", "[scenarios]") {
  const json domain = large("nvl72"), alone = large("nvl72", "--set nvlink_domain.nodes=1");
  CHECK(busbw(domain) > 1.5 * busbw(alone));
  const json rack = large("nvl72", "--set cluster.nodes=18");
  CHECK(rack.at("algorithm") == "nvls");
  // 18 NVLinks of 50 GB/s; each byte crosses a GPU's link 1 + 1/72 times each way.
  CHECK(rack.at("algbw_gbps") <= 900.0 * 72 / 73);
}

double time_us(const std::string& scenario, const std::string& options = {}) {
  return run("fabrics/" + scenario, options).at("rows").at(0).at("time_us");
}

TEST_CASE("other kinds of fabrics, by what their cables carry", "[scenarios]") {
  // 512 GPUs send a half of 1 GiB each to the other group, over four cables of 200 Gb/s, of which 97 % is payload.
  const double between = 512 * 0.5 * (1 << 30) / (4 * 25e9 * 0.97) * 1e6;
  const double minimal = time_us("dragonfly");
  CHECK(minimal == Approx(between).epsilon(0.03));
  // Detours use the cables to 22 other groups instead, and those among the groups.
  CHECK(time_us("dragonfly", "--set 'routing={kind: valiant, seeds: 2}'") < minimal / 15);

  // Two nodes of four NICs on two of four switches of a group: four flows on one cable with minimal paths; on three ways
  // with the part q of detours, 4 (1 - q) and 4 q / 2.
  const auto in_group = [](const std::string& routing) {
    return time_us("dragonfly",
                   "--set workload.collective=all_reduce --set 'cluster={nodes: 2, size: 4}' --set 'fabric={kind: "
                   "dragonfly, groups: 1, switches_per_group: 4, nodes_per_switch: 1, switch: {ports: 64, rate: "
                   "200Gbps}}' --set 'routing={" +
                       routing + "}'");
  };
  const double one_way = in_group("kind: adaptive");
  CHECK(in_group("kind: valiant, choice: packet, nonminimal: 0") == Approx(one_way));
  CHECK(in_group("kind: valiant, choice: packet, nonminimal: 0.5") == Approx(one_way / 2).epsilon(0.03));
  CHECK(in_group("kind: valiant, choice: packet, nonminimal: 0.66667") == Approx(one_way / 3).epsilon(0.03));
  CHECK(in_group("kind: valiant, choice: packet") == Approx(one_way / 2).epsilon(0.03));
  CHECK(in_group("kind: ugal") == Approx(one_way / 3).epsilon(0.03));

  // The NICs limit a ring, wherever its nodes are.
  CHECK(time_us("dragonfly_plus") ==
        Approx(time_us("dragonfly_plus", "--set cluster.placement=in_order")).epsilon(0.02));

  // A link of a torus carries N k / 8 flows where a NIC carries N - 1, so one cable instead of four takes longer by
  // more than two, and half as many cables between the switches of a HyperX twice as long.
  CHECK(time_us("torus", "--set fabric.cables=1") > 2 * time_us("torus"));
  CHECK(time_us("hyperx", "--set fabric.cables=1") == Approx(2 * time_us("hyperx")).epsilon(0.02));

  // 512 GPUs send a half of 1 GiB each to the other island, over 128 cables of 400 Gb/s, of which 98 % is payload.
  CHECK(time_us("islands") == Approx(512 * 0.5 * (1 << 30) / (128 * 50e9 * 0.9804) * 1e6).epsilon(0.03));
  CHECK(time_us("islands", "--set fabric.spine_up=32") < 0.7 * time_us("islands"));

  // 64 GPUs of a pod send a quarter of 1 GiB each to another pod, over eight cables. A ring of four pods has half the
  // cables, and half of the pairs of pods that are not joined.
  const double pods = time_us("ocs");
  CHECK(pods == Approx(64 * 0.25 * (1 << 30) / (8 * 50e9 * 0.9804) * 1e6).epsilon(0.03));
  CHECK(time_us("ocs", "--set fabric.matching=torus") == Approx(2 * pods).epsilon(0.03));

  // With one plane of four down, NICs have three quarters of their rate.
  const double planes = time_us("multi_plane");
  const double without_one = time_us("multi_plane", "--set 'faults=[{link: plane1, rate: 0}]'");
  const double without_two =
      time_us("multi_plane", "--set 'faults=[{link: plane1, rate: 0}, {link: plane2, rate: 0}]'");
  CHECK(without_one > planes);
  CHECK(without_two == Approx(1.5 * without_one).epsilon(0.03));
}

TEST_CASE("published designs run, and their bills add up", "[scenarios]") {
  const std::string design = GENERATE(as<std::string>(), "superpod_h100", "superpod_b200", "hpn_pod", "megascale");
  INFO(design);
  const json bill = json_of("bill scenarios/designs/" + design + ".yaml");
  double bought = 0, watts = 0;
  for (const json& line : bill.at("bill").at("lines")) {
    const double count = line.at("count").get<double>();
    bought += count * line.at("price").get<double>();
    watts += count * line.value("power_w", 0.0);
  }
  CHECK(bill.at("cost").at("bought").get<double>() == Approx(bought));
  CHECK(bill.at("bill").at("equipment_w").get<double>() == Approx(watts));
  CHECK(bill.at("cost").at("label").get<std::string>().starts_with("PLACEHOLDER"));
  // What a call costs is its part of the hour.
  for (const json& work : bill.at("cost").at("work"))
    CHECK(work.at("cost").get<double>() ==
          Approx(bill.at("cost").at("per_hour").get<double>() * work.at("time_s").get<double>() / 3600));
}
