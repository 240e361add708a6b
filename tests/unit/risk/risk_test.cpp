// Classes of failures against every single one, and what the report holds.
#include "fabricast/risk/risk.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "../../../sim/answer/risk/elements.hpp"
#include "../../../sim/answer/risk/flaps.hpp"
#include "fabricast/report/step.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using nlohmann::json;

const std::string nodes = "node: {profile: hgx-h100, nics: {link: roce}}\n";
const std::string all_reduce = "workload: {collective: all_reduce, sizes: [256MiB]}\n";
const std::string ring = "nccl: {env: {NCCL_ALGO: Ring, NCCL_PROTO: Simple}}\n";

RiskOptions few(bool every = false) {
  RiskOptions options;
  options.samples = 50, options.elements = 4, options.what_if = false, options.every = every;
  return options;
}

const RiskClass& find(const Risk& risk, Component component, Mishap mishap, Role role = Role::full) {
  for (const RiskClass& c : risk.classes)
    if (c.component == component && c.mishap == mishap && c.role == role) return c;
  FAIL("no such class");
  return risk.classes.front();
}

TEST_CASE("every component is in exactly one class", "[risk]") {
  const std::string fabric =
      GENERATE("{kind: rail_optimized, switch: {ports: 8}, oversubscription: 1}",
               "{kind: fat_tree, switch: {ports: 16}}", "{kind: leaf_spine, leaves: 4, spines: 3}");
  const std::string cluster = GENERATE("{nodes: 16}", "{nodes: 5, size: 16, placement: random}");
  const auto world = test::world_of(nodes + "cluster: " + cluster + "\nfabric: " + fabric + "\n" + all_reduce);
  const Elements elements(world);
  std::map<Component, std::size_t> count;
  for (const ElementClass& c : elements.classes()) {
    CHECK(std::is_sorted(c.members.begin(), c.members.end()));
    count[c.component] += c.members.size();
  }
  const Fabric& f = *world.fabric();
  CHECK(count[Component::nic_cable] == f.endpoints());
  CHECK(count[Component::leaf_spine_cable] == f.cables_below(Tier::spine));
  CHECK(count[Component::spine_core_cable] == f.cables_below(Tier::core));
  CHECK(count[Component::leaf] == f.switches_in(Tier::leaf));
  CHECK(count[Component::spine] == f.switches_in(Tier::spine));
  CHECK(count[Component::core] == f.switches_in(Tier::core));
  // Of a job on all nodes nothing is idle; of a part of them, as many NICs are as it does not have.
  for (const ElementClass& c : elements.classes())
    if (c.component == Component::nic_cable && c.role == Role::idle)
      CHECK(c.members.size() == f.endpoints() - 5 * f.ports_per_node());
}

TEST_CASE("the links of a component are those of its name", "[risk]") {
  const auto world =
      test::world_of(nodes + "cluster: {nodes: 16}\nfabric: {kind: rail_optimized, switch: {ports: 8}}\n" + all_reduce);
  const Elements elements(world);
  for (const ElementClass& c : elements.classes()) {
    if (c.component == Component::rail) continue;
    const std::uint32_t member = c.members[c.members.size() / 2];
    std::vector<LinkId> named = world.fabric()->find_links(elements.name(c.component, member));
    std::sort(named.begin(), named.end());
    INFO(elements.name(c.component, member));
    CHECK(elements.links(c.component, member) == named);
  }
}

TEST_CASE("without hashing, components of a class have the same effect", "[risk]") {
  // Brute force: every component of every class. A ring crosses each NIC in the same way.
  const auto world = test::world_of(nodes + "cluster: {nodes: 8}\nfabric: {kind: fat_tree, switch: {ports: 16}}\n" +
                                    "routing: {kind: spray}\n" + ring + all_reduce);
  const Risk all = assess(world, few(true)), sample = assess(world, few());
  REQUIRE(all.classes.size() == sample.classes.size());
  for (const RiskClass& c : all.classes) {
    const RiskClass& s = find(sample, c.component, c.mishap, c.role);
    INFO(name_of(c.component) << " " << name_of(c.mishap));
    CHECK(s.count == c.count);
    CHECK(s.stops == c.stops);
    CHECK(c.simulated >= s.simulated);
    CHECK(s.worst <= c.worst * (1 + 1e-9));
    // All alike: the mean is the worst, and the sample says the same as all do.
    CHECK(c.worst == Approx(c.slowdown).epsilon(0.01));
    CHECK(s.slowdown == Approx(c.slowdown).epsilon(0.01));
  }
  const RiskClass& nic = find(all, Component::nic_cable, Mishap::degraded);
  CHECK(nic.simulated == 64);
  CHECK(nic.count == 64);
  CHECK(nic.slowdown > 1.2);
}

TEST_CASE("with hashing, a sample is close to all components", "[risk]") {
  const auto world = test::world_of(nodes + "cluster: {nodes: 8}\nfabric: {kind: fat_tree, switch: {ports: 16}}\n" +
                                    "routing: {kind: ecmp, seeds: 8}\n" + ring + all_reduce);
  RiskOptions more = few();
  more.elements = 64;
  const Risk all = assess(world, few(true)), sample = assess(world, more);
  for (const RiskClass& c : all.classes) {
    if (c.simulated == 0) continue;
    const RiskClass& s = find(sample, c.component, c.mishap, c.role);
    INFO(name_of(c.component) << " " << name_of(c.mishap) << " " << c.slowdown << " " << s.slowdown);
    CHECK(s.count == c.count);
    CHECK(s.worst <= c.worst * (1 + 1e-9));
    // The mean of 64 of values between 1 and the worst: standard error at most (worst - 1) / 2 / 8.
    CHECK(std::abs(s.slowdown - c.slowdown) <= 4 * (c.worst - 1) / 16 + 1e-9);
    CHECK(std::abs(s.carries - c.carries) <= 4.0 / 16);
  }
  // Of 8 draws x all cables: some cable in some draw has none of the traffic.
  CHECK(find(all, Component::leaf_spine_cable, Mishap::flap).carries < 1);
  CHECK(find(all, Component::leaf_spine_cable, Mishap::flap).carries > 0);
}

TEST_CASE("a NIC's cable stops the job unless there are two planes", "[risk]") {
  const std::string text =
      nodes + "cluster: {nodes: 8}\nfabric: {kind: rail_optimized, switch: {ports: 16}}\n" + all_reduce;
  const auto one = test::world_of(text), two = test::world_of(text + "reliability: {planes: 2}\n");
  const Risk single = assess(one, few()), dual = assess(two, few());
  CHECK(find(single, Component::nic_cable, Mishap::down).stops);
  CHECK(find(single, Component::leaf, Mishap::down).stops);
  const RiskClass &cable = find(dual, Component::nic_cable, Mishap::down),
                  &leaf = find(dual, Component::leaf, Mishap::down);
  CHECK_FALSE(cable.stops);
  CHECK(cable.left == 0.5);
  CHECK(cable.slowdown > 1.3);
  CHECK_FALSE(leaf.stops);
  // Twice as many cables and leaves, each as likely to fail as one.
  CHECK(cable.count == 2 * find(single, Component::nic_cable, Mishap::down).count);
  CHECK(leaf.per_month == Approx(2 * find(single, Component::leaf, Mishap::down).per_month));
  CHECK(find(dual, Component::nic, Mishap::down).stops);
  CHECK(find(dual, Component::gpu, Mishap::down).stops);
  for (const RiskClass& c : dual.classes) CHECK(c.mishap != Mishap::long_flap);
}

TEST_CASE("components that the job does not use have no effect", "[risk]") {
  const auto world = test::world_of(
      nodes + "cluster: {nodes: 2, size: 16}\nfabric: {kind: fat_tree, switch: {ports: 16}}\n" + all_reduce);
  const Risk risk = assess(world, few());
  const RiskClass& idle = find(risk, Component::nic_cable, Mishap::down, Role::idle);
  CHECK(idle.count == 14 * 8);
  CHECK(idle.per_month > 0);
  CHECK(idle.hours == 0);
  CHECK_FALSE(idle.stops);
  CHECK(idle.simulated == 0);
}

TEST_CASE("the same bytes on any number of threads", "[risk]") {
  const auto world = test::world_of(nodes + "cluster: {nodes: 8}\nfabric: {kind: fat_tree, switch: {ports: 16}}\n" +
                                    "routing: {kind: ecmp, seeds: 4}\n" + all_reduce);
  RiskOptions one = few(), many = few();
  one.what_if = many.what_if = true;
  one.run.threads = 1, many.run.threads = 5;
  const std::string text = risk_json(assess(world, one));
  CHECK(text == risk_json(assess(world, many)));
  CHECK(text == risk_json(assess(world, many)));
  one.seed = 2;
  CHECK(text != risk_json(assess(world, one)));
}

TEST_CASE("rare failures cost the sum of their single costs", "[risk]") {
  const auto world = test::world_of(
      "node: {profile: hgx-h100}\ncluster: {nodes: 16}\nfabric: {kind: rail_optimized, switch: {ports: 32}}\n"
      "workload: {kind: training_step, model: {preset: llama2-13b}, batch: {global: 256}, parallel: {tensor: 2, "
      "pipeline: "
      "2}}\nreliability: {flaps: {cable: 0.5}, spares: 4}\n");
  RiskOptions options = few();
  options.samples = 3000, options.elements = 1;
  const Risk risk = assess(world, options);
  double hours = 0;
  for (const RiskClass& c : risk.classes) hours += c.hours;
  const double saving = risk.checkpoint.pause / (risk.checkpoint.every + risk.checkpoint.pause);
  CHECK(risk.month.stops > 1);
  CHECK(hours > 0.5);
  // Beside the sum there are only failures of failures.
  CHECK(1 - risk.month.goodput == Approx(hours / 720 + saving).epsilon(0.05));
  double lost = 0, kinds = 0;
  for (const LostTime& l : risk.month.lost) lost += l.hours;
  for (const LostTime& l : risk.month.lost_by_kind) kinds += l.hours;
  CHECK(lost == Approx(720 * (1 - risk.month.goodput)).margin(0.01));
  CHECK(kinds == Approx(lost).margin(0.01));
  CHECK(risk.checkpoint.bytes.value == Approx(14 * 13.0e9).epsilon(0.02));
  CHECK(risk.month.goodput_p5 < risk.month.goodput);
  CHECK(risk.month.goodput_p95 > risk.month.goodput);
}

TEST_CASE("a slow host costs the extra time of its computation", "[risk]") {
  const std::string text =
      "node: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload: {kind: training_step, model: {preset: llama2-13b}, "
      "batch: "
      "{global: 256}, parallel: {tensor: 4}";
  const auto world = test::world_of(text + "}\n");
  const auto slow = test::world_of(text + ", variation: {steps: 1, slow_hosts: 100%, slowdown: 10%}}\n");
  const double simulated = run_step(slow).time.value / run_step(world).time.value;
  RiskOptions one = few();
  one.elements = 1, one.unrated = false;
  CHECK(find(assess(world, one), Component::host, Mishap::slow).slowdown == Approx(simulated).epsilon(0.01));
}

TEST_CASE("a pause storm stops all that share a leaf", "[risk]") {
  // 6 of 12 hosts, each with 8 NICs at one leaf: two leaves of the job with 64 NICs, 48 of them its own.
  const auto assessed = [](const std::string& congestion, const std::string& last) {
    const auto world = test::world_of(
        nodes + "cluster: {nodes: 6, size: 12}\nrouting: {kind: adaptive}\n" + all_reduce +
        "nccl: {version: \"2.28\"}\n" + "fabric: {kind: leaf_spine, leaves: 3, spines: 4, nodes_per_leaf: 4" +
        congestion +
        "}\nreliability: {failures: {gpu: 0, host: 0, nic: 0, software: 0, nic_cable: 0, fabric_cable: 0, leaf: 0, " +
        "spine: 0, core: 0}, flaps: {cable: 0}, degraded: {cable: 0, nic: 0}, stragglers: {hosts: 0}, " +
        "pause_storms: {nic: 0.5, last: " + last + "}}\n");
    RiskOptions options = few();
    options.samples = 2000, options.unrated = false;
    return assess(world, options);
  };
  const Risk lossless = assessed("", "10s");
  const RiskClass& storm = find(lossless, Component::nic, Mishap::storm);
  CHECK(storm.count == 2 * 4 * 8);
  CHECK_FALSE(storm.stops);
  // Hours = rate x NICs x length.
  CHECK(storm.hours == Approx(0.5 * 64 * 10 / 3600));
  REQUIRE(lossless.month.lost.size() == 1);
  CHECK(lossless.month.lost.front().cause == "nic storm");
  CHECK(lossless.month.lost.front().hours == Approx(storm.hours).epsilon(0.02));
  CHECK(1 - lossless.month.goodput == Approx(storm.hours / 720).epsilon(0.02));
  // Steps that end are as long as without storms.
  CHECK(lossless.month.time_worst == lossless.time_worst);
  // Switches that drop hold up only the traffic to that NIC.
  const Risk lossy = assessed(", congestion: {lossless: false}", "10s");
  CHECK(find(lossy, Component::nic, Mishap::storm).count == 6 * 8);
  // 60 s are more than the 30 s after which queue pairs give up.
  const Risk stopping = assessed("", "60s");
  CHECK(find(stopping, Component::nic, Mishap::storm).stops);
  CHECK(stopping.month.stops == Approx(32).epsilon(0.05));
}

TEST_CASE("the transport gives up when NCCL does", "[risk]") {
  const auto window = [](const std::string& more) {
    const auto world = test::world_of(nodes + "cluster: {nodes: 2}\n" + all_reduce + more);
    return transport_of(world, world.scenario().reliability).window;
  };
  CHECK(window("nccl: {version: \"2.28\"}\n") == Approx(7 * 4.096e-6 * (1 << 20)));
  CHECK(window("nccl: {version: \"2.20\"}\n") == Approx(7 * 4.096e-6 * (1 << 18)));
  CHECK(window("nccl: {version: \"2.12\"}\n") == Approx(7 * 4.096e-6 * (1 << 14)));
  CHECK(window("nccl: {version: \"2.28\", env: {NCCL_IB_TIMEOUT: 22, NCCL_IB_RETRY_CNT: 3}}\n") ==
        Approx(3 * 4.096e-6 * (1 << 22)));
  CHECK(window("nccl: {env: {NCCL_IB_TIMEOUT: 22}}\nreliability: {transport: {timeout: 10, retries: 2}}\n") ==
        Approx(2 * 4.096e-6 * 1024));
}

TEST_CASE("stalls by flaps", "[risk]") {
  FlapSpec spec;
  spec.median = {1}, spec.spread = 1;
  const Transport transport{0.5, 3.5};
  const double reroute = GENERATE(std::numeric_limits<double>::infinity(), 1.2, 3.6);
  const FlapMoments m = flap_moments(spec, transport, reroute);
  Rng rng(1);
  constexpr int flaps = 200'000;
  double stops = 0, stall = 0, square = 0;
  for (int i = 0; i < flaps; ++i) {
    const double length = std::min(reroute, std::exp(rng.normal()));
    if (length > transport.window) {
      ++stops;
      continue;
    }
    const double s = reroute <= transport.window ? length : transport.timeout * std::ceil(length / transport.timeout);
    stall += s, square += s * s;
  }
  CHECK(m.stops == Approx(stops / flaps).margin(0.003));
  CHECK(m.stall == Approx(stall / (flaps - stops)).epsilon(0.01));
  CHECK(m.square == Approx(square / (flaps - stops)).epsilon(0.02));
  CHECK(flap_moments(spec, {0.5, 0}, std::numeric_limits<double>::infinity()).stops == 1);
}

TEST_CASE("one node has no network that fails", "[risk]") {
  const auto world = test::world_of("node: {profile: hgx-h100}\ncluster: {nodes: 1}\n" + all_reduce);
  const Risk risk = assess(world, few());
  for (const RiskClass& c : risk.classes) CHECK(c.stops);
  CHECK(risk.classes.size() == 3);
  CHECK(risk.worst_survived() == nullptr);
  CHECK_FALSE(risk_text(risk).empty());
}

TEST_CASE("without failures nothing is lost", "[risk]") {
  const auto world = test::world_of(nodes + "cluster: {nodes: 4}\n" + all_reduce +
                                    "routing: {kind: ecmp, seeds: 1}\nreliability:\n"
                                    "  failures: {gpu: 0, host: 0, nic: 0, nic_cable: 0, leaf: 0, spine: 0, core: 0, "
                                    "fabric_cable: 0, software: 0}\n"
                                    "  degraded: {cable: 0, nic: 0}\n  flaps: {cable: 0}\n  stragglers: {hosts: 0}\n");
  const Risk risk = assess(world, few());
  CHECK(risk.month.goodput == Approx(1));
  CHECK(risk.month.lost.empty());
  CHECK(risk.month.stops == 0);
  const json j = json::parse(risk_json(risk));
  CHECK(j.at("checkpoint").at("between_stops_s").is_null());
}

}  // namespace
}  // namespace fabricast
