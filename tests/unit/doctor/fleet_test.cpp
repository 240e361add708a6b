// Reports of many hosts: which are odd, which are left out, and how long it takes.
#include "fabricast/calibrate/doctor_fleet.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "support/host_tree.hpp"

namespace fabricast {
namespace {

using Words = std::vector<std::string>;

/// The report of the made-up host after a change of its files.
std::string changed(const std::function<void(const HostTree&)>& change) {
  const HostTree tree;
  write_healthy_host(tree, false);
  change(tree);
  DoctorExtras extras;
  for (int i = 0; i < 8; ++i) extras.active_mtu[{"mlx5_" + std::to_string(i), 1}] = 4096;
  return doctor_json(doctor(tree.root(), extras), "9.9");
}

/// The healthy report under another host name, and with another kernel if one is given.
std::string report_of(const std::string& name, const std::string& kernel = {}) {
  static const std::string plain = changed([](const HostTree&) {});
  auto json = nlohmann::ordered_json::parse(plain);
  json["host"] = name;
  if (!kernel.empty()) json["facts"]["kernel"] = kernel;
  return json.dump(1);
}

TEST_CASE("a report contains the facts for comparing hosts", "[doctor]") {
  const auto json = nlohmann::json::parse(report_of("a"));
  CHECK(json.at("schema") == 1);
  const auto& facts = json.at("facts");
  CHECK(facts.at("gpus") == "8 x 10de:2330");
  CHECK(facts.at("gpu_link") == "8 x 32 GT/s x16");
  CHECK(facts.at("nics") == "8 x MT_0000000838");
  CHECK(facts.at("nic_firmware") == "8 x 28.39.1002");
  CHECK(facts.at("nic_rate") == "8 x 400 Gb/s");
  CHECK(facts.at("driver") == "550.54.15");
  CHECK(facts.at("driver_kind") == "open");
  CHECK(facts.at("nccl") == "2.21.5");
  CHECK(facts.at("iommu") == "16 x identity");
  CHECK(facts.at("kernel_parameters") == "iommu=pt ro");
  CHECK(facts.at("variables") == "NCCL_DEBUG=WARN");
  CHECK_FALSE(facts.contains("tcp_rmem"));
}

TEST_CASE("equal hosts do not differ", "[doctor]") {
  Fleet fleet;
  for (const char* name : {"a", "b", "c"}) fleet.add(std::string(name) + ".json", report_of(name));
  const FleetReport report = fleet.report();
  CHECK(report.hosts == Words{"a", "b", "c"});
  CHECK(report.differing.empty());
  CHECK(report.findings.empty());
  CHECK(report.odd_hosts.empty());
  CHECK(report.alike.size() > 12);
}

TEST_CASE("hosts that differ from the majority are named, with the fact", "[doctor]") {
  Fleet fleet;
  for (int i = 0; i < 5; ++i) fleet.add("n.json", report_of("n" + std::to_string(i)));
  fleet.add("slow.json", changed([](const HostTree& t) {
              t.write("proc/sys/kernel/hostname", "slow\n");
              t.write("sys/class/infiniband/mlx5_3/ports/1/rate", "200 Gb/sec (2X NDR)\n");
              t.write("sys/class/infiniband/mlx5_3/fw_ver", "28.37.1014\n");
            }));
  fleet.add("old.json", changed([](const HostTree& t) {
              t.write("proc/sys/kernel/hostname", "old\n");
              t.write("proc/sys/kernel/osrelease", "5.15.0-1030-nvidia\n");
              t.remove("proc/sys/kernel/numa_balancing");
            }));
  const FleetReport report = fleet.report();
  Words differing;
  for (const FleetFact& fact : report.differing) {
    CHECK(fact.majority);
    REQUIRE(fact.values.size() == 2);
    REQUIRE(fact.values[1].hosts.size() == 1);
    differing.push_back(fact.name + ": " + fact.values[1].value + " on " + fact.values[1].hosts[0]);
  }
  CHECK(differing == Words{"kernel: 5.15.0-1030-nvidia on old", "nic_firmware: 7 x 28.39.1002, 1 x 28.37.1014 on slow",
                           "nic_rate: 7 x 400 Gb/s, 1 x 200 Gb/s on slow", "numa_balancing: not reported on old"});
  Words findings;
  for (const FleetFinding& f : report.findings) findings.push_back(f.check + " " + f.subject + " on " + f.hosts.at(0));
  CHECK(findings == Words{"firmware mlx5_3 on slow", "link_rate mlx5_3 port 1 on slow"});
  CHECK(report.odd_hosts == std::vector<std::pair<std::string, std::size_t>>{{"slow", 4}, {"old", 2}});
  const std::string text = fleet_text(report, "9.9");
  CHECK(text.find("# hosts that differ most: slow (4) old (2)\n") != std::string::npos);
  CHECK(text.find("\ndiffers: nic_rate\n  8 x 400 Gb/s: 6 hosts\n  7 x 400 Gb/s, 1 x 200 Gb/s: 1 host: slow\n") !=
        std::string::npos);
  const auto json = nlohmann::json::parse(fleet_json(report, "9.9"));
  CHECK(json.at("hosts").size() == 7);
  CHECK(json.at("differing").at(2).at("values").at(1).at("hosts") == nlohmann::json::parse(R"(["slow"])"));
}

TEST_CASE("two halves have no majority, and no host is odd", "[doctor]") {
  Fleet fleet;
  for (const char* name : {"a", "b", "c", "d"})
    fleet.add("x.json", report_of(name, name < std::string("c") ? "6.8.0" : ""));
  const FleetReport report = fleet.report();
  REQUIRE(report.differing.size() == 1);
  CHECK_FALSE(report.differing[0].majority);
  CHECK(report.odd_hosts.empty());
  CHECK(fleet_text(report, "9.9").find("kernel (no value has a majority)") != std::string::npos);
}

TEST_CASE("damaged reports are listed and left out, others still count", "[doctor]") {
  Fleet fleet;
  const std::string good = report_of("a");
  fleet.add("a.json", good);
  fleet.add("cut.json", "{\n \"fabricast\": \"9.9\",\n \"host\": ");
  fleet.add("list.json", "[1, 2]");
  fleet.add("old.json", R"({"fabricast": "0.1", "host": "b", "findings": []})");
  fleet.add("new.json", R"({"fabricast": "9", "schema": 7, "host": "b", "findings": []})");
  fleet.add("half.json", R"({"fabricast": "9", "schema": 1, "host": "b", "facts": {"kernel": 5}, "findings": []})");
  fleet.add("odd.json", R"({"fabricast": "9", "schema": 1, "host": "b", "facts": {}, "findings": [{"status": 1}]})");
  fleet.add("empty.json", "");
  fleet.add("latin.json", "{\"fabricast\": \"\xff\"}");
  fleet.add("deep.json", std::string(100000, '['));
  const FleetReport report = fleet.report();
  CHECK(report.hosts == Words{"a"});
  Words stated;
  for (const Diagnostic& d : report.left_out) stated.push_back(d.where.file + ":" + std::to_string(d.where.line));
  CHECK(stated == Words{"cut.json:3", "list.json:1", "old.json:1", "new.json:1", "half.json:1", "odd.json:1",
                        "empty.json:1", "latin.json:1", "deep.json:1"});
  CHECK(report.left_out[2].message.find("has schema 0, but this fabricast reads schema 1") != std::string::npos);
  CHECK(report.left_out[3].message.find("has schema 7, but this fabricast reads schema 1") != std::string::npos);
}

TEST_CASE("equal host names get their file names, and control characters are not echoed", "[doctor]") {
  Fleet fleet;
  fleet.add("x.json", report_of("localhost"));
  fleet.add("y.json", report_of("localhost"));
  fleet.add(
      "z.json",
      R"({"fabricast": "9", "schema": 1, "host": "\u001b[31m", "facts": {"kernel": "\u001b[2J"}, "findings": []})");
  const FleetReport report = fleet.report();
  CHECK(report.hosts.at(1) == "localhost (y.json)");
  CHECK(fleet_text(report, "9.9").find('\x1b') == std::string::npos);
}

TEST_CASE("a thousand hosts take less than two seconds", "[doctor]") {
  auto json = nlohmann::json::parse(report_of("x"));
  std::vector<std::string> reports;
  for (int i = 0; i < 1000; ++i) {
    json["host"] = "node" + std::to_string(i);
    json["facts"]["driver"] = i % 100 == 7 ? "535.104.05" : "550.54.15";
    reports.push_back(json.dump(1));
  }
  const auto begin = std::chrono::steady_clock::now();
  Fleet fleet;
  for (const std::string& r : reports) fleet.add("r.json", r);
  const FleetReport report = fleet.report();
  const std::string text = fleet_text(report, "9.9");
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 2);
  REQUIRE(report.differing.size() == 1);
  CHECK(report.differing[0].values[1].hosts.size() == 10);
  CHECK(text.find("  535.104.05: 10 hosts: node7 node107 node207") != std::string::npos);
}

}  // namespace
}  // namespace fabricast
