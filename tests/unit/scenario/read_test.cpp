// Scenarios: defaults, overrides, and what is said of mistakes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "fabricast/core/names.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/world.hpp"
#include "fabricast/topology/file.hpp"
#include "support/begin_as.hpp"
#include "support/scratch.hpp"

namespace fabricast {
namespace {

using test::begin_as;

const std::string minimal =
    "fabricast: 1\nnode: {gpu: h100-sxm}\ncluster: {nodes: 4}\nworkload: {collective: all_reduce}\n";

Scenario parsed(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_scenario(text, "s.yaml", overrides).scenario;
}

std::string shown(const Diagnostic& d) {
  return d.where.file + ":" + std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + ": " + d.path +
         ": " + d.message + (d.hint.empty() ? "" : " | " + d.hint);
}
std::vector<std::string> faults(const std::string& text, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> list;
  try {
    parsed(text, overrides);
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics()) list.push_back(shown(d));
  }
  return list;
}
using List = std::vector<std::string>;

std::string_view fabric_kind(const Scenario& s) { return topologies()[s.fabric.kind].name; }
std::string_view routing_kind(const Scenario& s) { return routing_policies()[s.routing.kind].name; }

TEST_CASE("members of a read scenario may be changed", "[scenario]") {
  Scenario s = plain_scenario("dgx-a100");
  s.cluster.nodes = 16;
  s.nccl.env["NCCL_ALGO"] = "ring";
  const Scenario read = parsed(
      "fabricast: 1\nnode: {profile: dgx-a100}\ncluster: {nodes: 16}\nworkload: {}\nnccl: {env: {NCCL_ALGO: ring}}\n");
  CHECK(to_yaml(s) == to_yaml(read));
  CHECK(build_world(s).scenario().cluster.size == 16);
  // The hosts on the fabric follow the job's, also when it has been written and read again.
  s = parsed(to_yaml(plain_scenario()));
  s.cluster.nodes = 3;
  CHECK(build_world(s).allocation().main.size() == 3);
  CHECK_THROWS_AS(plain_scenario("no-such-node"), UserError);
}

TEST_CASE("defaults depend on the named hardware", "[scenario]") {
  const Scenario s = parsed(minimal);
  CHECK(s.node.spec.gpus == 8);
  CHECK(s.node.spec.nics.rate == BytesPerSecond{50e9});
  CHECK(fabric_kind(s) == "rail_optimized");
  CHECK(routing_kind(s) == "adaptive");
  CHECK(s.fabric.basics.switch_box.rate == BytesPerSecond{50e9});
  CHECK(s.cluster.size == 0);  // as many as are needed
  CHECK(s.workload.harness.tool == Tool::nccl_tests);
  CHECK(s.network.engine == EngineKind::flow);
  const auto sizes = s.sizes();
  CHECK(sizes.size() == 31);  // 8 B to 8 GiB by twos
  CHECK(sizes.front() == 8);
  CHECK(sizes.back() == std::int64_t{1} << 33);

  const auto with = [](const std::string& node) {
    return parsed("fabricast: 1\nnode: {" + node + "}\ncluster: {nodes: 4}\nworkload: {collective: all_reduce}\n");
  };
  CHECK(routing_kind(with("nics: {link: roce}")) == "ecmp");
  CHECK(routing_kind(with("nics: {link: socket}")) == "ecmp");
  CHECK(routing_kind(with("nics: {link: slingshot}")) == "adaptive");
  CHECK(routing_kind(with("profile: p5")) == "spray");
  CHECK(fabric_kind(with("nics: {count: 2}")) == "fat_tree");
  CHECK(with("gpu: a100-sxm").nccl.version == "2.21");
  CHECK(with("nics: {rate: 100Gbps}").fabric.basics.switch_box.rate == BytesPerSecond{12.5e9});
}

TEST_CASE("other names are accepted, and ambiguous ones warn", "[scenario]") {
  const auto read = [](const std::string& node) {
    return parse_scenario("fabricast: 1\nnode: {" + node + "}\ncluster: {nodes: 4}\nworkload: {}\n", "s.yaml");
  };
  const ReadResult h100 = read("gpu: H100");
  CHECK(h100.scenario.node.spec.gpu == "h100-sxm");
  REQUIRE(h100.warnings.size() == 1);
  CHECK(h100.warnings[0].message == "'H100' is read as h100-sxm; it may also be h100-nvl, h100-pcie");
  CHECK(h100.warnings[0].where.line == 2);
  // The effective scenario has it in our words, and nothing is left to doubt.
  const ReadResult again = parse_scenario(to_yaml(h100.scenario), "s.yaml");
  CHECK(again.warnings.empty());
  CHECK(to_yaml(again.scenario) == to_yaml(h100.scenario));
  const NodeSpec p4d = read("profile: P4D.24xlarge").scenario.node.spec;
  CHECK(p4d.profile == "p4d");
  CHECK(p4d.pcie_switches == 4);
  CHECK(read("gpu: A100-SXM4-40GB, memory: 64GiB").scenario.node.spec.memory == Bytes{std::int64_t{64} << 30});
  CHECK(read("profile: nc-h100-v5").scenario.node.spec.pcie_switches == 0);
  CHECK(read("profile: gb200-nvl72").scenario.nvlink_domain.nodes == 18);
  CHECK(read("profile: gb200-tray").scenario.nvlink_domain.nodes == 1);
}

TEST_CASE("explicit keys override the profile", "[scenario]") {
  const auto with = [](const std::string& node) {
    return parsed("fabricast: 1\nnode: {" + node + "}\ncluster: {nodes: 4}\nworkload: {}\n").node.spec;
  };
  CHECK(with("profile: dgx-a100").gpu == "a100-sxm");
  CHECK(with("profile: dgx-a100, gpus: 4").gpus == 4);
  CHECK(with("profile: dgx-a100, nics: {rate: 100Gbps}").nics.rate == BytesPerSecond{12.5e9});
  CHECK(with("profile: dgx-a100, nics: {rate: 100Gbps}").nics.count == 8);
  CHECK(with("profile: dgx-a100, gpu: h100-sxm").gpu == "h100-sxm");
  CHECK(with("profile: dgx-a100, gpu: h100-sxm").profile == "dgx-a100");
}

TEST_CASE("memory and power of a GPU come from the data sheet or the scenario", "[scenario]") {
  const auto with = [](const std::string& node) {
    return "fabricast: 1\nnode: {" + node + "}\ncluster: {nodes: 4}\nworkload: {}\n";
  };
  const auto memory = [&](const std::string& node) { return parsed(with(node)).node.spec.memory; };
  CHECK(memory("profile: dgx-a100") == Bytes{std::int64_t{80} << 30});
  CHECK(memory("profile: dgx-a100, gpu: h200-sxm") == Bytes{std::int64_t{141} << 30});
  const NodeSpec a100 = parsed(with("gpu: a100-sxm, memory: 40GiB, memory_rate: 1555GBps, power: 0.3kW")).node.spec;
  CHECK(a100.memory == Bytes{std::int64_t{40} << 30});
  CHECK(a100.memory_rate == BytesPerSecond{1555e9});
  CHECK(a100.power == Watts{300});
  CHECK(parsed(with("gpu: a100-sxm"), {"node.power=350W"}).node.spec.power == Watts{350});

  CHECK(faults(with("memory: 80")) == List{"s.yaml:2:16: node.memory: '80' has no unit | write 80B, 80KiB or 80MB"});
  CHECK(faults(with("memory: 80MB")) ==
        List{"s.yaml:2:16: node.memory: '80MB' is out of range | between 1GiB and 16TiB"});
  CHECK(faults(with("memory_rate: 2039")) ==
        List{"s.yaml:2:21: node.memory_rate: '2039' has no unit | write 2039Gbps (bits) or 2039GBps (bytes)"});
  CHECK(faults(with("memory_rate: 1MBps")) ==
        List{"s.yaml:2:21: node.memory_rate: '1MBps' is out of range | between 8Gbps and 8000Tbps"});
  CHECK(faults(with("power: 500")) == List{"s.yaml:2:15: node.power: '500' has no unit | write 500W"});
  CHECK(faults(with("power: 0W")) == List{"s.yaml:2:15: node.power: must be positive"});
  CHECK(faults(with("power: 1000kW")) ==
        List{"s.yaml:2:15: node.power: '1000kW' is out of range | between 1W and 100000W"});
  CHECK(faults(with("memry: 80GiB")) == List{"s.yaml:2:8: node.memry: unknown key | did you mean 'memory'?"});
}

TEST_CASE("sizes of a sweep", "[scenario]") {
  const auto sizes = [](const std::string& workload) {
    return parsed("fabricast: 1\nnode: {}\ncluster: {nodes: 2}\nworkload: {" + workload + "}\n").sizes();
  };
  using Sizes = std::vector<std::int64_t>;
  CHECK(sizes("from: 1KiB, to: 10KiB, factor: 3") == Sizes{1024, 3072, 9216});
  CHECK(sizes("from: 8B, to: 8B") == Sizes{8});
  CHECK(sizes("from: 1B, to: 5B, factor: 1.3") == Sizes{1, 2, 3, 4, 5});  // whole bytes, none twice
  CHECK(sizes("sizes: [1MiB, 8B, 100000B]") == Sizes{1 << 20, 8, 100000});
}

TEST_CASE("--set overrides the file", "[scenario]") {
  CHECK(parsed(minimal, {"cluster.nodes=7"}).cluster.nodes == 7);
  CHECK(parsed(minimal, {"cluster.nodes=7", "cluster.nodes=9"}).cluster.nodes == 9);
  CHECK(fabric_kind(parsed(minimal, {"fabric.kind=fat_tree"})) == "fat_tree");
  CHECK_THAT(to_yaml(parsed(minimal, {"fabric.switch.rate=800Gbps"})),
             Catch::Contains("    rate: 800Gbps\n    latency"));
  CHECK(parsed(minimal, {"node.gpu=a100-sxm"}).node.spec.nics.rate == BytesPerSecond{25e9});
  CHECK(parsed(minimal, {"node.gdr=false"}).node.spec.gdr == Gdr::off);
  CHECK(parsed(minimal, {"nccl.env.NCCL_ALGO=Ring"}).nccl.env.at("NCCL_ALGO") == "Ring");
  CHECK(parsed(minimal, {"workload.sizes=[8B, 1KiB]"}).sizes() == std::vector<std::int64_t>{8, 1024});
  // Sizes replace a range of the file, and a range its sizes.
  using Sizes = std::vector<std::int64_t>;
  const std::string head = "fabricast: 1\nnode: {}\ncluster: {nodes: 2}\nworkload: ";
  CHECK(parsed(head + "{from: 8B, to: 1KiB, factor: 2}\n", {"workload.sizes=[1MiB]"}).sizes() == Sizes{1 << 20});
  CHECK(parsed(head + "{sizes: [1MiB]}\n", {"workload.from=8B", "workload.to=32B", "workload.factor=2"}).sizes() ==
        Sizes{8, 16, 32});
  for (const std::string both : {"{from: 8B, sizes: [1KiB]}", "{}"})
    CHECK_FALSE(faults(head + both + "\n", {"workload.sizes=[1MiB]", "workload.to=1GiB"}).empty());
  CHECK(parsed("fabricast: 1\nnode: {}\ncluster: {nodes: 2}\nworkload: {}\nfaults: [{link: leaf0, rate: 0}]\n",
               {"faults[0].rate=50%"})
            .faults[0]
            .rate.value == .5);
  CHECK_THAT(faults(minimal, {"cluster.nods=7"}), begin_as("--set cluster.nods=7:0:0: cluster.nods: unknown key"));
  // A key of one section without it; several sections have a `kind`.
  CHECK_THAT(faults(minimal, {"call_delay=1us"}),
             begin_as("--set call_delay=1us:0:0: call_delay: unknown key | did you mean 'node.call_delay'?"));
  CHECK_THAT(faults(minimal, {"kind=ring"}),
             begin_as("--set kind=ring:0:0: kind: unknown key | `fabricast describe scenario`"));
  CHECK(
      faults(minimal, {"fabric.switch.rate=800"}) ==
      List{"--set fabric.switch.rate=800:0:0: fabric.switch.rate: '800' has no unit | write 800Gbps (bits) or 800GBps "
           "(bytes)"});
  REQUIRE(faults(minimal, {"cluster.nodes"}).size() == 1);
  CHECK_THAT(faults(minimal, {"cluster.nodes"})[0], Catch::Contains("'--set cluster.nodes' has no value"));
  CHECK_THAT(faults(minimal, {"=3"})[0], Catch::Contains("has no value"));
}

TEST_CASE("errors have their position", "[scenario]") {
  const std::string head =
      "fabricast: 1\nnode: {gpu: h100-sxm}\ncluster: {nodes: 4}\nworkload: {collective: all_reduce}\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"fabrik: {}\n", "s.yaml:5:1: fabrik: unknown key | did you mean 'fabric'?"},
      {"fabric:\n  switch:\n    rat: 400Gbps\n", "s.yaml:7:5: fabric.switch.rat: unknown key | did you mean 'rate'?"},
      {"fabric:\n  switch: {rate: 400}\n",
       "s.yaml:6:18: fabric.switch.rate: '400' has no unit | write 400Gbps (bits) or 400GBps (bytes)"},
      {"fabric: {kind: fattree}\n", "s.yaml:5:16: fabric.kind: unknown value 'fattree' | did you mean 'fat_tree'?"},
      {"fabric: {kind: fat_tree, oversubscription: 0.5}\n",
       "s.yaml:5:44: fabric.oversubscription: '0.5' is out of range"},
      {"fabric: {kind: leaf_spine, leaves: 0}\n", "s.yaml:5:36: fabric.leaves: '0' is out of range"},
      {"fabric: 3\n", "s.yaml:5:9: fabric: must be a map | write {key: value, ...}"},
      {"routing: {kind: ecmp, seeds: 2.5}\n", "s.yaml:5:30: routing.seeds: '2.5' is not a whole number"},
      {"routing: {kind: ecmp, seed: -1}\n", "s.yaml:5:29: routing.seed: '-1' is "},
      {"routing: {kind: ecmp, fields: src_ip}\n", "s.yaml:5:31: routing.fields: must be a list | write [a, b, ...]"},
      {"routing: {kind: ecmp, fields: [src_ip, src_pork]}\n",
       "s.yaml:5:40: routing.fields[1]: unknown value 'src_pork' | did you mean 'src_port'?"},
      {"name: [a]\n", "s.yaml:5:7: name: must be a single value"},
      {"name: a\nname: b\n", "s.yaml:6:1: name: duplicate key"},
      {"nccl: {env: {NCCL_ALGO: [ring]}}\n", "s.yaml:5:25: nccl.env.NCCL_ALGO: must be a single value"},
      {"nccl: {env: {NCCL_ALGO: rong}}\n",
       "s.yaml:5:25: nccl.env.NCCL_ALGO: 'rong' is not an algorithm | did you mean 'ring'?"},
      {"faults: [{link: leaf0}]\n",
       "s.yaml:5:10: faults[0]: `rate` is missing | write e.g. rate: 10%, or rate: 0 for a link that is down"},
      {"faults: [{link: leaf0, rate: 150%}]\n", "s.yaml:5:30: faults[0].rate: '150%' is out of range"},
      {"faults: [{link: leaf0, rate: 0, at: 2s, until: 1s}]\n", "s.yaml:5:48: faults[0].until: is not after `at`"},
      {"fabric: {kind: file}\n",
       "s.yaml:5:9: fabric.path: no file is given | write fabric: {kind: file, path: fabric.yaml}"},
  };
  for (const auto& [text, message] : cases) {
    INFO(text);
    CHECK_THAT(faults(head + text), begin_as(message));
  }
}

TEST_CASE("numbers from 0 to 1 are also written in percent", "[scenario]") {
  const std::string head =
      "fabricast: 1\nnode: {profile: dgx-h100}\ncluster: {nodes: 1}\nworkload: {kind: inference, model: {preset: "
      "llama3-8b}, ";
  const auto cached = [&](const std::string& text) {
    return parsed(head + "phase: both, load: {cached: " + text + "}}\n").workload.inference.load.cached;
  };
  CHECK(cached("30%") == 0.3);
  CHECK(cached("0.3") == 0.3);
  CHECK_THAT(faults(head + "phase: both, load: {cached: 101%}}\n"),
             begin_as("s.yaml:4:85: workload.load.cached: '101%' is out of range"));
  // Where more than the whole is possible, a number stays a plain one.
  CHECK_THAT(faults(head + "imbalance: 120%}\n"),
             begin_as("s.yaml:4:68: workload.imbalance: '120%' is not a plain number"));
}

TEST_CASE("errors of one section", "[scenario]") {
  const auto section = [](const std::string& cluster, const std::string& workload) {
    return faults("fabricast: 1\nnode: {}\ncluster: {" + cluster + "}\nworkload: {" + workload + "}\n");
  };
  CHECK_THAT(section("nodes: 0", ""), begin_as("s.yaml:3:18: cluster.nodes: '0' is out of range"));
  CHECK_THAT(section("nodes: 2, placement: [0, 0]", ""),
             begin_as("s.yaml:3:32: cluster.order: host 0 is listed twice"));
  CHECK_THAT(section("nodes: 3, placement: [0, 1]", ""),
             begin_as("s.yaml:3:32: cluster.order: lists 2 hosts, but the job has 3 nodes"));
  // Domains that fill alike can be left with room; a list of hosts can not be made longer.
  CHECK_THAT(faults("fabricast: 1\nnode: {gpu: gb200}\ncluster: {nodes: 5, placement: [0, 1, 2, 3, 4]}\n"
                    "workload: {}\nnvlink_domain: {nodes: 3}\n"),
             begin_as("s.yaml:3:18: cluster.nodes: 5 hosts do not fill NVLink domains of 3 | use a multiple of 3"));
  CHECK_THAT(section("nodes: 3, size: 2", ""),
             begin_as("s.yaml:3:27: cluster.size: 2 hosts are fewer than the job needs (3)"));
  CHECK_THAT(section("nodes: 2", "from: 1MiB, to: 1KiB"),
             begin_as("s.yaml:4:18: workload.from: 1MiB is more than `to`, which is 1KiB"));
  CHECK_THAT(section("nodes: 2", "sizes: []"), begin_as("s.yaml:4:19: workload.sizes: the list is empty"));
  CHECK_THAT(section("nodes: 2", "sizes: [8B], factor: 2"),
             begin_as("s.yaml:4:19: workload.sizes: cannot be combined with from, to or factor | give sizes, or from, "
                      "to and factor"));
  CHECK_THAT(section("nodes: 2", "factor: 1.0002"),
             begin_as("s.yaml:4:20: workload.factor: gives more than 10000 sizes | use a larger factor"));
}

TEST_CASE("an unknown GPU is reported once and hides no other error", "[scenario]") {
  const std::string text =
      "fabricast: 1\nnode: {gpu: h100-sxn}\ncluster: {nodes: x}\nworkload: {}\nfabric: {nodes_per_su: 8}\n";
  CHECK_THAT(faults(text), begin_as("s.yaml:2:13: node.gpu: unknown GPU 'h100-sxn' | did you mean 'h100-sxm'?",
                                    "s.yaml:3:18: cluster.nodes: 'x' is not a whole number"));
  CHECK_THAT(faults("fabricast: 1\nnode: {profile: hgx}\ncluster: {nodes: 2}\nworkload: {}\n"),
             begin_as("s.yaml:2:17: node.profile: unknown profile 'hgx'"));
}

TEST_CASE("all errors of a file are reported at once", "[scenario]") {
  CHECK_THAT(
      faults("node: {gpus: 0}\ncluster: {nodes: x}\nbogus: 1\n"),
      begin_as("s.yaml:1:14: node.gpus: '0' is out of range", "s.yaml:2:18: cluster.nodes: 'x' is not a whole number",
               "s.yaml:3:1: bogus: unknown key | known: assumed, background, cluster, fabric, fabricast, faults, jobs, "
               "measured, name, "
               "nccl, network, node, "
               "nvlink_domain, prices, profile, reliability, routing, sharp, site, workload",
               "s.yaml:0:0: fabricast: the format version is missing | start with `fabricast: 1`",
               "s.yaml:0:0: workload: the section is missing | e.g. workload: {collective: all_reduce}"));
}

TEST_CASE("files that are not scenarios", "[scenario]") {
  CHECK_THAT(faults(""), begin_as("s.yaml:1:1: : "));
  CHECK_THAT(faults("- a\n"), begin_as("s.yaml:1:1: : not a map of sections | start with `fabricast: 1`"));
  CHECK_THAT(faults(std::string("a\0b", 3)), begin_as("s.yaml:1:"));
  const List broken = faults("fabricast: 1\nnode: {gpu: [}\n");
  REQUIRE(broken.size() == 1);
  CHECK_THAT(broken[0], Catch::StartsWith("s.yaml:2:") && Catch::Contains("not YAML"));
  CHECK_THAT(faults("fabricast: 2\nnode: {}\ncluster: {nodes: 2}\nworkload: {}\n"),
             begin_as("s.yaml:1:12: fabricast: '2' is out of range"));
}

TEST_CASE("a clock that slows no computation is warned of", "[scenario]") {
  const auto warnings = [](const std::string& workload) {
    return parse_scenario("fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload: " + workload +
                              "\nfaults: [{host: 3, clock: 80%}]\n",
                          "s.yaml")
        .warnings;
  };
  const auto single = warnings("{collective: all_reduce}");
  REQUIRE(single.size() == 1);
  CHECK(single[0].path == "faults[0].clock");
  CHECK_THAT(single[0].message, Catch::Contains("no effect on a single collective"));
  CHECK(warnings("{kind: training_step, model: {preset: llama2-7b}, batch: {global: 64}}").empty());
}

TEST_CASE("one part of a fault is named", "[scenario]") {
  const auto fault = [](const std::string& entry) {
    return faults(
        "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload: {collective: all_reduce}\nfaults: [" +
        entry + "]\n");
  };
  CHECK(fault("{host: 3, clock: 80%}").empty());
  CHECK(fault("{gpu: node3.gpu2, rate: 10%}").empty());
  REQUIRE(fault("{host: 3, nic: node1.nic0, rate: 0}").size() == 1);
  CHECK_THAT(fault("{host: 3, nic: node1.nic0, rate: 0}")[0], Catch::Contains("names several components"));
  CHECK_THAT(fault("{host: 3}").at(0), Catch::Contains("`rate` is missing"));
  CHECK_THAT(fault("{link: spine0, clock: 50%}").at(0), Catch::Contains("applies only to a host or a GPU"));
  CHECK_THAT(fault("{host: 1, clock: 50%, until: 1s}").at(0), Catch::Contains("applies to the whole step"));
}

TEST_CASE("bytes written for bits in a NIC's rate are doubted", "[scenario]") {
  const auto warnings = [](const std::string& rate) {
    return parse_scenario(
               "fabricast: 1\nnode: {gpu: h100-sxm, nics: {rate: " + rate + "}}\ncluster: {nodes: 4}\nworkload: {}\n",
               "s.yaml")
        .warnings;
  };
  REQUIRE(warnings("400GBps").size() == 1);
  CHECK(shown(warnings("400GBps")[0]) ==
        "s.yaml:2:36: node.nics.rate: 3.2Tbps is faster than a port of any known NIC, which has at most 800Gbps | did "
        "you mean 400Gbps? 400GBps are bytes");
  CHECK(warnings("10Tbps").at(0).hint.empty());
  CHECK(warnings("800Gbps").empty());
}

TEST_CASE("what is not a version of NCCL is an error", "[scenario]") {
  const auto version = [](const std::string& text) {
    return parse_scenario(minimal + "nccl: {version: \"" + text + "\"}\n", "s.yaml").scenario.nccl.version;
  };
  CHECK(version("2.24.3+cuda12.6") == "2.24.3");
  CHECK(version("22403") == "2.24.3");
  for (const std::string bad : {"latest", "3.9", "2.21-2.18"})
    CHECK(faults(minimal + "nccl:\n  version: " + bad + "\n") ==
          List{"s.yaml:6:12: nccl.version: '" + bad + "' is not an NCCL version | write e.g. \"2.28\", \"2.21.5\", " +
               "\"2.18-2.21\" or unknown; the newest known version is 2.32"});
}

TEST_CASE("warnings have a position", "[scenario]") {
  const ReadResult read = parse_scenario(
      minimal + "nccl:\n  version: 2.99\n  env:\n    NCCL_DEBUG: INFO\n    NCCL_ALGOO: Ring\n", "s.yaml");
  List list;
  for (const Diagnostic& d : read.warnings) {
    CHECK(d.severity == Diagnostic::Severity::warning);
    list.push_back(shown(d));
  }
  CHECK(list ==
        List{"s.yaml:6:12: nccl.version: '2.99' is newer than the newest known version; the rules of 2.32 are used | "
             "newer versions may choose differently; \"2.32\" means the same without a warning",
             "s.yaml:9:17: nccl.env.NCCL_ALGOO: unknown variable | did you mean 'NCCL_ALGO'?",
             "s.yaml:8:17: nccl.env.NCCL_DEBUG: accepted, but has no effect on forecast times"});
  CHECK(parse_scenario(minimal, "s.yaml").warnings.empty());
}

/// A directory of files that goes away with the test.
class Files {
 public:
  Files() { std::filesystem::create_directories(dir_ / "sub"); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }
  std::string at(const std::string& name) const { return dir_ / name; }

 private:
  Scratch dir_;
};

TEST_CASE("files that a scenario names are relative to it", "[scenario]") {
  const Files files;
  files.write("sub/fit.json", R"({"architectures": {"hopper": {"launch": {"value": 3.25}}}})");
  files.write("sub/fabric.yaml",
              "switches: [tor0, {name: agg0, tier: spine}]\nlinks:\n"
              "  - {from: node0.nic0, to: tor0}\n  - {from: tor0, to: agg0, rate: 100Gbps, count: 2}\n");
  const std::string scenario =
      files.write("sub/s.yaml",
                  "fabricast: 1\nnode: {profile: fit.json, gpu: h100-sxm}\ncluster: {nodes: 2}\n"
                  "fabric: {kind: file, path: fabric.yaml}\nworkload: {}\n");
  const Scenario s = read_scenario(scenario).scenario;
  CHECK(s.hardware->architectures.find("hopper")->second.launch.value == 3.25);
  CHECK(shipped_hardware().architectures.find("hopper")->second.launch.value != 3.25);
  const auto& fabric = std::any_cast<const FileFabricSpec&>(s.fabric.spec);
  REQUIRE(fabric.switches.size() == 2);
  CHECK(fabric.switches[0].name == "tor0");
  CHECK(fabric.switches[1].tier == Tier::spine);
  REQUIRE(fabric.links.size() == 2);
  CHECK(fabric.links[1].count == 2);
  CHECK(fabric.links[1].rate == BytesPerSecond{12.5e9});

  // Their mistakes are shown in them.
  files.write("sub/fit.json", "{\n  \"architectures\": {\"hopper\": {\"lunch\": {\"value\": 3}}}\n}");
  CHECK_THROWS_WITH(read_scenario(scenario), Catch::Contains(files.at("sub/fit.json") + ":2:"));
  files.write("sub/fit.json", "{}");
  files.write("sub/fabric.yaml", "switches: [tor0]\nlinks:\n  - {from: tor0, too: tor0}\n");
  CHECK_THROWS_WITH(read_scenario(scenario),
                    Catch::Contains(files.at("sub/fabric.yaml") + ":3:18") && Catch::Contains("did you mean 'to'?"));
  CHECK_THROWS_WITH(read_scenario(scenario, {"node.profile=none.json"}),
                    Catch::Contains("cannot read '" + files.at("sub/none.json")));
  CHECK_THROWS_WITH(read_scenario(files.at("nothing.yaml")), Catch::Contains("cannot read"));
  CHECK_THROWS_WITH(read_scenario(files.at("sub")), Catch::Contains("is a directory"));
}

}  // namespace
}  // namespace fabricast
