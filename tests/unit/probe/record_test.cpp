#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/probe_session.hpp"
#include "support/scratch.hpp"

namespace fabricast {
namespace {

using nlohmann::json;

Measurement stream() {
  Measurement m;
  m.backend = "verbs", m.what = "write_bandwidth", m.memory = "host", m.from = 0, m.to = 1;
  m.from_port = "mlx5_0/1", m.to_port = "mlx5_1/1", m.bytes = {1000000}, m.connections = 4, m.stream = true;
  return m;
}

TEST_CASE("a line states the measurement, its ranks and its interval", "[probe]") {
  const std::string line = result_line(stream(), summarise({{2e-5}, {2.5e-5}, {4e-5}}));
  CHECK(line.back() == '\n');
  CHECK(line.find('\n') == line.size() - 1);
  const json j = json::parse(line);
  CHECK(j["backend"] == "verbs");
  CHECK(j["what"] == "write_bandwidth");
  CHECK(j["memory"] == "host");
  CHECK(j["peer"]["from"] == json{{"rank", 0}, {"port", "mlx5_0/1"}});
  CHECK(j["peer"]["to"] == json{{"rank", 1}, {"port", "mlx5_1/1"}});
  CHECK(j["bytes"] == 1000000);
  CHECK(j["connections"] == 4);
  CHECK(j["median_us"] == 25);
  CHECK(j["low_us"] == 20);
  CHECK(j["high_us"] == 40);
  CHECK(j["rate_gbps"] == 40);  // 1 MB in 25 us
  CHECK(j["rate_gbps_low"] == 25);
  CHECK(j["rate_gbps_high"] == 50);
  CHECK(j["samples_us"] == json{20, 25, 40});
  CHECK_FALSE(j.contains("error"));
}

TEST_CASE("a latency has no rate, and a failure has its reason", "[probe]") {
  Measurement m = stream();
  m.stream = false, m.from_port = m.to_port = "";
  CHECK_FALSE(json::parse(result_line(m, summarise({{1e-6}}))).contains("rate_gbps"));
  CHECK_FALSE(json::parse(result_line(m, summarise({{1e-6}})))["peer"]["from"].contains("port"));
  SampleSet failed;
  failed.error = "transport retry counter exceeded";
  const json j = json::parse(result_line(m, failed));
  CHECK(j["error"] == "transport retry counter exceeded");
  CHECK_FALSE(j.contains("median_us"));
}

const std::string rank_of_a = R"({"host": "a"})", rank_of_b = R"({"host": "b"})";

TEST_CASE("provenance does not contain the token", "[probe]") {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"probe", "--token", "s3cret", "--ranks", "2"}, {"probe", "--token=s3cret"}}) {
    const std::string line = provenance_line("1.2.3", command, 7, "2026-01-01T00:00:00Z", {rank_of_a});
    CHECK(line.find("s3cret") == std::string::npos);
    CHECK(json::parse(line)["command"][0] == "probe");
  }
  const json j = json::parse(provenance_line("1.2.3", {"probe", "--ranks", "2"}, 7, "now", {rank_of_a, rank_of_b}));
  CHECK(j["command"] == json{"probe", "--ranks", "2"});
  CHECK(j["fabricast"] == "1.2.3");
  CHECK(j["seed"] == 7);
  CHECK(j["ranks"][1]["host"] == "b");
}

TEST_CASE("an earlier file is read back: its results, and the end of its last complete line", "[probe]") {
  SampleSet failed;
  failed.error = "gone";
  Measurement other = stream();
  other.bytes = {8};
  const std::string whole = provenance_line("1", {}, 1, "t", {rank_of_a, rank_of_b}) +
                            result_line(stream(), summarise({{1e-6}})) + result_line(other, failed);
  const EarlierResults earlier = read_earlier(whole + "{\"backend\": \"tc", "p.jsonl");
  CHECK(earlier.keys == std::vector<std::string>{stream().key()});  // a failed measurement is repeated
  CHECK(earlier.hosts == std::vector<std::string>{"a", "b"});
  CHECK(earlier.whole == whole.size());
  CHECK(read_earlier("", "p.jsonl").whole == 0);
}

TEST_CASE("the provenance of a host is read from sysfs and procfs", "[probe]") {
  namespace fs = std::filesystem;
  const Scratch scratch;
  const fs::path& root = scratch.path;
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n");
  write("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n");
  write("sys/class/infiniband/mlx5_0/hca_type", "MT4129\n");
  write("sys/class/net/eth0/mtu", "9000\n");
  write("sys/class/net/eth0/speed", "-1\n");  // of an interface that is down
  write("sys/module/nvidia/version", "550.54.15\n");
  write("sys/module/mlx5_core/refcnt", "1\n");
  const json j =
      json::parse(host_provenance({{"NCCL_ALGO", "Ring"}, {"FABRICAST_TOKEN", "s3cret"}}, {106, 3, 1, 0}, root));
  CHECK(j["cpu"] == "Some CPU @ 2 GHz");
  CHECK(j["hcas"] == json::parse(R"([{"name": "mlx5_0", "firmware": "28.39.1002", "type": "MT4129"}])"));
  CHECK(j["interfaces"] == json::parse(R"([{"name": "eth0", "mtu": 9000}])"));
  CHECK(j["modules"] == json::parse(R"({"nvidia": "550.54.15", "mlx5_core": "of the kernel"})"));
  CHECK(j["rdma"] ==
        json::parse(R"({"traffic_class": 106, "service_level": 3, "partition": 1, "relaxed_ordering": 0})"));
  CHECK(j["environment"] == json::parse(R"({"NCCL_ALGO": "Ring"})"));
  CHECK(j["kernel"].get<std::string>().starts_with("Linux "));
  CHECK(j["clock"]["resolution_ns"].get<long long>() >= 1);
  CHECK(j.contains("pci"));
}

TEST_CASE("a line of the nccl backend has bandwidths as nccl-tests counts them, and the forced settings", "[probe]") {
  Measurement m;
  m.backend = "nccl", m.what = "all_reduce", m.memory = "gpu", m.to = 1, m.bytes = {1000000}, m.everyone = true;
  m.gpus = 8, m.bus_factor = 1.75, m.in_place = true, m.algorithm = "ring", m.protocol = "ll128", m.channels = 4;
  SampleSet set = summarise({{1e-4}});
  set.how = "results checked";
  const auto line = nlohmann::json::parse(result_line(m, set));
  CHECK(line["algbw_gbps"] == 10);
  CHECK(line["busbw_gbps"] == 17.5);
  CHECK(line["gpus"] == 8);
  CHECK(line["in_place"] == true);
  CHECK(line["algorithm"] == "ring");
  CHECK(line["protocol"] == "ll128");
  CHECK(line["channels"] == 4);
  CHECK(line["how"] == "results checked");
  CHECK(line["key"] == "nccl all_reduce gpu 0 -> 1 1000000B x1 8 GPUs ring ll128 4 channels in place");
  m.algorithm.clear(), m.protocol.clear(), m.channels = 0;
  const auto own_choice = nlohmann::json::parse(result_line(m, set));
  for (const char* key : {"algorithm", "protocol", "channels"}) CHECK_FALSE(own_choice.contains(key));
}

}  // namespace
}  // namespace fabricast
