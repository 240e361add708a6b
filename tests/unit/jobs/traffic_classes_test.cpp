// `fabric.congestion.classes` in whole forecasts, against closed forms.
#include "fabricast/scenario/traffic_classes.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/engine/class_shares.hpp"
#include "fabricast/jobs/jobs.hpp"
#include "sim/engine/traffic/item_classes.hpp"
#include "support/ets_port.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::world_of;

constexpr std::int64_t size = std::int64_t{1} << 30;

struct Setup {
  std::string classes, order = "0, 8", rest = {}, control = "ideal", env = {}, link = "roce", op = "sendrecv";
};

/// Two hosts of one GPU and one NIC, on two leaves of eight hosts each that one cable joins.
std::string text_of(const Setup& s) {
  return fmt::format(
      "node: {{gpu: h100-sxm, gpus: 1, nics: {{count: 1, rate: 100Gbps, link: {}}}}}\n"
      "cluster: {{nodes: 2, size: 16, placement: [{}]}}\n"
      "fabric: {{kind: leaf_spine, leaves: 2, spines: 1, nodes_per_leaf: 8, switch: {{rate: 100Gbps}},\n"
      "         congestion: {{control: {}{}}}}}\n"
      "routing: {{kind: static}}\n"
      "nccl: {{version: \"2.27\", env: {{{}}}}}\n"
      "workload: {{collective: {}, sizes: [1GiB], harness: {{tool: isolated}}}}\n{}",
      s.link, s.order, s.control, s.classes.empty() ? "" : fmt::format(", classes: [{}]", s.classes), s.env, s.op,
      s.rest);
}

double seconds(const Setup& s) { return time_job(with_others(world_of(text_of(s))), size).time.value; }

/// The main job with weight v, and a class `other` with 1 - v.
std::string two(double v, const std::string& more = "") {
  return fmt::format("{{name: nccl, weight: {}}}, {{name: other, weight: {}{}}}", v, 1 - v, more);
}

std::string job(const std::string& order, const std::string& more, double duty = 1) {
  return fmt::format(
      "jobs: [{{nodes: 2, placement: [{}], workload: {{collective: sendrecv, size: 1GiB, duty: {}}}{}}}]\n", order,
      duty, more);
}

/// The time that the cable takes for the bytes of one job.
double cable() { return seconds({"", "0, 8", job("1, 9", "")}) / 2; }

TEST_CASE("jobs in two classes share a cable by weight", "[classes]") {
  const double whole = cable(), alone = seconds({});
  REQUIRE(whole > 0.85 * alone);
  for (const double v : {0.1, 0.25, 0.5, 0.75}) {
    CAPTURE(v);
    const Setup s{two(v), "0, 8", job("1, 9", ", class: other")};
    // The other NIC alone leaves a tenth of the cable.
    const double part = std::max(v, 1 - whole / alone);
    CHECK(seconds(s) == Approx(whole / part).epsilon(0.005));
    // The other job sees the same shares from its side.
    const JobsForecast f = forecast_jobs(world_of(text_of(s)), size);
    CHECK(f.jobs[0].traffic_class == "nccl");
    CHECK(f.jobs[1].traffic_class == "other");
    CHECK(f.jobs[0].beside.time.value == Approx(whole / part).epsilon(0.005));
    CHECK(f.jobs[1].beside.time.value == Approx(std::max(alone, whole / (1 - v))).epsilon(0.02));
  }
  // In one class it is a half each, whatever the weights.
  CHECK(seconds({two(0.9), "0, 8", job("1, 9", "")}) == seconds({"", "0, 8", job("1, 9", "")}));
}

TEST_CASE("one class, or jobs in one class, change nothing", "[classes]") {
  for (const char* control : {"ideal", "reactive", "none"})
    for (const std::string& rest :
         {job("1, 9", ""),
          std::string("background: [{kind: flows, hosts: [1, 9, 10], targets: [12], rate: 9GBps}]\n")}) {
      CAPTURE(control, rest);
      const double before = seconds({"", "0, 15", rest, control});
      CHECK(seconds({"{name: all}", "0, 15", rest, control}) == before);
      CHECK(seconds({"{name: all}, {name: unused, weight: 0.2, strict: true}", "0, 15", rest, control}) == before);
    }
}

TEST_CASE("a class that pauses gets less on average", "[classes]") {
  const double whole = cable(), alone = seconds({});
  // It sends W at the fraction f of the cable, then pauses for W (1 - d) / d.
  for (const double v : {0.3, 0.5, 0.8})
    for (const double d : {0.1, 0.5, 0.9}) {
      CAPTURE(v, d);
      const double f = 1 - v, part = 1 / (1 / f + (1 - d) / d);
      // A NIC alone reaches less than the cable can carry.
      CHECK(seconds({two(v), "0, 8", job("1, 9", ", class: other", d)}) ==
            Approx(std::max(alone, whole / (1 - part))).epsilon(0.01));
    }
}

TEST_CASE("weights of classes that pause are those of a port that serves packets", "[classes]") {
  constexpr std::int64_t burst = 2000;
  for (const double v : {0.2, 0.5, 0.9})
    for (const double d : {0.1, 0.5, 0.8}) {
      CAPTURE(v, d);
      const auto pause = static_cast<std::int64_t>(burst * (1 - d) / d);
      const std::vector<double> packets =
          test::port_shares_by_packets({v, 1 - v}, {{0}, {1, 1, burst, pause}}, 2'000'000);
      const std::vector<ClassWeight> classes{{v}, {1 - v}};
      WeighedClasses weigh(classes);
      weigh.add({0, 0, 1});
      weigh.add({1, 1, d});
      // The one that pauses asks for the fraction d.
      const std::vector<double> offers = offers_to_classes(1, {1, d}, weigh.weights(), {false, false});
      CHECK(std::min(d, offers[1]) == Approx(packets[1]).epsilon(0.01));
      CHECK(1 - std::min(d, offers[1]) == Approx(packets[0]).epsilon(0.01));
    }
}

TEST_CASE("a strict class is served first", "[classes]") {
  const double whole = cable();
  const std::string flows = "background: [{kind: flows, hosts: [1], targets: [9], rate: 5GBps, class: other}]\n";
  const Setup strict{two(0.5, ", strict: true"), "0, 8", flows};
  const World world = world_of(text_of(strict));
  const double capacity = world.fabric()->link_class(world.fabric()->find_links("leaf0-spine0").front()).rate.value;
  CHECK(seconds(strict) == Approx(whole * capacity / (capacity - 5e9)).epsilon(0.01));
  CHECK(seconds({"{name: nccl, strict: true}, {name: other}", "0, 8", flows}) == Approx(seconds({})));
}

/// Hosts `from` of storage send all they can to host 0.
std::string reads(const std::string& from, const std::string& more = "") {
  return fmt::format("background: [{{kind: dataset_read, hosts: [0], targets: [{}], rate: 100Gbps{}}}]\n", from, more);
}

TEST_CASE("reads that incast on a host leave it its class's part of the NIC", "[classes]") {
  // Host 1 sends to host 0, and storage at the same leaf, too: only the port of host 0 is full.
  const double alone = seconds({"", "1, 0"});
  for (const auto& [from, n] : {std::pair{"2", 1}, std::pair{"2-3", 2}, std::pair{"2-5", 4}, std::pair{"2-7", 6}}) {
    CAPTURE(n);
    // Without classes each connection gets the same, and the job has one.
    const double shared = seconds({"", "1, 0", reads(from)});
    CHECK(shared > alone * n * 0.93);
    CHECK(shared < alone * (n + 1) * 1.01);
    for (const double v : {0.5, 0.7, 0.9}) {
      const Setup s{two(v), "1, 0", reads(from, ", class: other")};
      const double apart = seconds(s);
      CHECK(apart <= alone / v * 1.001);
      CHECK(apart >= alone / v * 0.93);
      // What the reads and the job get together is the rate of the port.
      const JobsForecast f = forecast_jobs(world_of(text_of(s)), size);
      REQUIRE(f.flows.size() == 1);
      const double port =
          f.world.fabric()->link_class(f.world.fabric()->find_links("node0.nic0-leaf0").front()).rate.value;
      CHECK(f.flows[0].got.value <= port * (1 + 1e-9));
      CHECK(f.flows[0].traffic_class == "other");
    }
  }
  // Two hosts that read from six: each NIC is the limit, not the storage.
  const JobsForecast f = forecast_jobs(
      world_of(
          text_of({"", "8, 9", "background: [{kind: dataset_read, hosts: [0, 1], targets: [2-7], rate: 100Gbps}]\n"})),
      size);
  const double port = f.world.fabric()->link_class(f.world.fabric()->find_links("node0.nic0-leaf0").front()).rate.value;
  CHECK(f.flows[0].wanted.value == Approx(2 * 12.5e9));
  CHECK(f.flows[0].got.value == Approx(2 * std::min(port, 12.5e9)).epsilon(1e-6));
}

/// Hosts 1, 9, 10 and 11 send to host 12; the job's host 0 sends to 15, over the cable that host 1 uses.
std::string incast(const std::string& more = "") {
  return fmt::format("background: [{{kind: flows, hosts: [1, 9, 10, 11], targets: [12], rate: 100Gbps{}}}]\n", more);
}

TEST_CASE("a paused class does not hold back another one", "[classes]") {
  const double alone = seconds({"", "0, 15"});
  const Setup together{two(0.5), "0, 15", incast(), "none"}, apart{two(0.5), "0, 15", incast(", class: other"), "none"};
  CHECK(seconds({"", "0, 15", incast(), "none"}) > 3.3 * alone);
  CHECK(seconds(together) > 3.3 * alone);
  // The incast gets a quarter of its receiver's port; the job has what that leaves of the cable.
  const double whole = cable(), rest = whole / (1 - 0.25 * whole / alone);
  CHECK(seconds(apart) == Approx(rest).epsilon(0.01));
  // With little weight as well, since the incast does not take its part of the cable.
  CHECK(seconds({two(0.1), "0, 15", incast(", class: other"), "none"}) == Approx(rest).epsilon(0.01));
  // With more than that, its part.
  CHECK(seconds({two(0.85), "0, 15", incast(", class: other"), "none"}) == Approx(whole / 0.85).epsilon(0.01));
}

TEST_CASE("the marks of NCCL's packets say the class of a job", "[classes]") {
  const auto name = [](const std::string& classes, const std::string& env, const std::string& link = "roce") {
    const World world = world_of(text_of({classes, "0, 8", job("1, 9", ""), "ideal", env, link}));
    return class_name(world, class_of_main(world));
  };
  const std::string classes = "{name: best_effort}, {name: lossless, tc: [104, 106]}, {name: control, tc: [4]}";
  CHECK(name(classes, "") == "best_effort");
  CHECK(name(classes, "NCCL_IB_TC: 106") == "lossless");
  CHECK(name(classes, "NCCL_IB_TC: 4") == "control");
  CHECK(name(classes, "NCCL_IB_TC: 7") == "best_effort");
  CHECK(name(classes, "NCCL_IB_SL: 4") == "best_effort");
  CHECK(name(classes, "NCCL_IB_SL: 4", "infiniband") == "control");
  CHECK(name("{name: a, tc: [1]}, {name: b, tc: [0]}", "") == "b");
  // Jobs and flows by name.
  const World world = world_of(text_of({classes, "0, 8", job("1, 9", ", class: control") + incast(), "ideal", ""}));
  CHECK(class_name(world, class_of_job(world, world.scenario().jobs[0])) == "control");
  CHECK(class_name(world, class_of_flows(world, world.scenario().background[0])) == "best_effort");
}

std::string fault(const std::string& classes, const std::string& rest) {
  try {
    (void)world_of(text_of({classes, "0, 8", rest}));
  } catch (const UserError& e) { return e.what(); }
  return {};
}

TEST_CASE("names of classes are checked", "[classes]") {
  const auto says = [](const std::string& message, const std::string& part) {
    CAPTURE(message, part);
    CHECK(message.find(part) != std::string::npos);
    CHECK(message.find("test.yaml") != std::string::npos);
  };
  says(fault("{name: nccl}, {name: storage}", job("1, 9", ", class: storag")), "did you mean 'storage'?");
  says(fault("{name: nccl}", incast(", class: x")), "background[0].class");
  says(fault("", incast(", class: x")), "fabric.congestion.classes is empty");
  says(fault("{name: a}, {name: a}", ""), "another class has the name 'a'");
  says(fault("{weight: 0.5}", ""), "`name` is missing");
  says(fault("{name: 'a b'}", ""), "characters other than");
  says(fault("{name: a, tc: [1, 2]}, {name: b, tc: [2]}", ""), "2 is also in class 'a'");
  says(fault("{name: a, weight: 2}", ""), "weight");
  says(fault("{name: a, tc: [256]}", ""), "tc");
  CHECK(fault("{name: a}, {name: b}", incast(", class: b")).empty());
}

TEST_CASE("classes without an effect are doubted", "[classes]") {
  const auto warns = [](const Setup& s, const std::string& part) {
    std::vector<Diagnostic> all = parse_scenario("fabricast: 1\n" + text_of(s), "test.yaml").warnings;
    return std::any_of(all.begin(), all.end(), [&](const Diagnostic& d) {
      return (d.path + ": " + d.message).find(part) != std::string::npos;
    });
  };
  CHECK(warns({two(0.5)}, "classes have no effect"));
  CHECK_FALSE(warns({two(0.5), "0, 8", incast()}, "classes have no effect"));
  CHECK(warns({two(0.5), "0, 8", incast(), "ideal", "NCCL_IB_TC: 106"}, "no class has 106 in `tc`"));
  CHECK(warns({"", "0, 8", incast(), "ideal", "NCCL_IB_TC: 106"}, "NCCL_IB_TC: accepted, but has no effect"));
  const Setup listed{"{name: a, tc: [106]}", "0, 8", incast(), "ideal", "NCCL_IB_TC: 106"};
  CHECK_FALSE(warns(listed, "NCCL_IB_TC"));
}

TEST_CASE("classes are written and read back", "[classes]") {
  const std::string classes = "{name: nccl, weight: 0.7, tc: [106]}, {name: storage, weight: 0.3, strict: true}";
  const std::string text = to_yaml(world_of(text_of({classes, "0, 8", incast(", class: storage")})).scenario());
  const Scenario again = parse_scenario(text, "again.yaml").scenario;
  REQUIRE(again.fabric.congestion.classes.size() == 2);
  CHECK(again.fabric.congestion.classes[0].weight.value == 0.7);
  CHECK(again.fabric.congestion.classes[0].tc == std::vector<int>{106});
  CHECK(again.fabric.congestion.classes[1].strict);
  CHECK(again.background[0].traffic_class == "storage");
  CHECK(to_yaml(again) == text);
  CHECK(to_yaml(world_of(text_of({"", "0, 8", incast()})).scenario()).find("class") == std::string::npos);
}

TEST_CASE("no job is faster next to others in any classes, on any number of threads", "[classes]") {
  const std::string lists[] = {"{name: a, weight: 0.3}, {name: b, weight: 0.6}, {name: c, weight: 0.2}",
                               "{name: a}, {name: b, strict: true}, {name: c, weight: 0.1}",
                               "{name: a, strict: true}, {name: b, strict: true}, {name: c}"};
  for (const std::string& classes : lists)
    for (const char* control : {"ideal", "reactive", "none"})
      for (const char* routing : {"kind: ecmp, seeds: 2", "kind: adaptive"}) {
        CAPTURE(classes, control, routing);
        const World world = world_of(fmt::format(
            "node: {{gpu: h100-sxm, nics: {{count: 8, rate: 400Gbps, link: infiniband}}}}\n"
            "cluster: {{nodes: 12, size: 48, filled: 20%, placement: random, seed: 5}}\n"
            "fabric: {{kind: fat_tree, switch: {{ports: 32}}, oversubscription: 3,\n"
            "         congestion: {{control: {}, classes: [{}]}}}}\n"
            "routing: {{{}}}\nnccl: {{version: \"2.27\"}}\nworkload: {{collective: all_gather, sizes: [256MiB]}}\n"
            "jobs: [{{name: x, nodes: 8, class: b, workload: {{size: 256MiB}}}},\n"
            "       {{name: y, nodes: 8, placement: random, workload: {{collective: alltoall, size: 64MiB, duty: "
            "30%}}}}]\n"
            "background: [{{kind: dataset_read, targets: [47], rate: 40GBps, class: c}}]\n",
            control, classes, routing));
        RunOptions one, three;
        one.threads = 1, three.threads = 3;
        const JobsForecast f = forecast_jobs(world, std::int64_t{256} << 20, one);
        CHECK(jobs_json(f) == jobs_json(forecast_jobs(world, std::int64_t{256} << 20, three)));
        for (const JobRow& row : f.jobs) {
          CHECK(row.slowdown() >= 1);
          CHECK(std::isfinite(row.slowdown()));
        }
        for (const auto& row : f.slowdown)
          for (const double s : row) CHECK(s >= 1);
        for (const FlowRow& row : f.flows) CHECK(row.got <= row.wanted * (1 + 1e-9));
      }
}

TEST_CASE("a step loses less to reads in a class of their own", "[classes]") {
  const auto step = [](const std::string& classes, const std::string& of_flows) {
    const World world = world_of(
        fmt::format("node: {{profile: hgx-h100, nics: {{link: roce}}}}\ncluster: {{nodes: 4, size: 8}}\n"
                    "fabric: {{kind: fat_tree, switch: {{ports: 64}}, congestion: {{classes: [{}]}}}}\n"
                    "routing: {{kind: adaptive}}\n"
                    "workload: {{kind: training_step, framework: fsdp, model: {{preset: llama2-7b}}, precision: bf16,\n"
                    "           batch: {{global: 32, micro: 1}}}}\n"
                    "background: [{{kind: dataset_read, rate: 300GBps, connections: 8, targets: [5-7]{}}}]\n",
                    classes, of_flows));
    return time_job(with_others(world), 0).time.value;
  };
  const double together = step("", ""), half = step(two(0.5), ", class: other"),
               most = step(two(0.9), ", class: other"), least = step(two(0.1), ", class: other");
  CHECK(together > 1.02 * half);
  CHECK(half > 1.02 * most);
  CHECK(least > 1.02 * half);
  CHECK(step(two(0.5), "") == together);
}

}  // namespace
}  // namespace fabricast
