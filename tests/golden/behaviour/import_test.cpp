// From logs to measured cases, by the binary.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command_line.hpp"

namespace fabricast {
namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

const std::string test_log =
    "# Collective test starting: all_gather_perf\n"
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1\n"
    "#  Rank  0 Group  0 Pid 1 on node-a device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid 2 on node-b device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n"
    "# size count type redop root time algbw busbw #wrong\n"
    "1048576 131072 float none -1 100.0 10.49 5.24 0\n"
    "2097152 262144 float none -1 150.0 99.99 6.99 0\n";
const std::string nccl_log = "node-a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.4<0>\n";
const std::string scenario =
    "fabricast: 1\nnode: {gpu: h100-sxm, gpus: 1, intranode: none, nics: {count: 1, rate: 200Gbps, link: roce}}\n"
    "cluster: {nodes: 8}\nworkload: {}\n";

TEST_CASE("two logs and a scenario make a case that validates", "[import]") {
  const Scratch folder;
  write(folder / "test.log", test_log), write(folder / "nccl.log", nccl_log), write(folder / "s.yaml", scenario);
  const Ran ran = run_fabricast("calibrate import " + (folder / "test.log") + " " + (folder / "nccl.log") +
                                " --scenario " + (folder / "s.yaml") + " --system lab --output " + (folder / "c.json"));
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(ran.err == (folder / "test.log") + ":7: warning: 2097152 bytes in 150 us are 13.98 GB/s, not 99.99\n");
  CHECK(ran.out.find("1 row, 1048576 to 1048576 B, 2 ranks on 2 nodes") != std::string::npos);
  CHECK(ran.out.find("mlx5_0:1/RoCE") != std::string::npos);
  const auto cases = nlohmann::json::parse(read_text(folder / "c.json"));
  REQUIRE(cases.size() == 1);
  CHECK(cases[0]["id"] == "lab-all-gather-2n1g");
  CHECK(cases[0]["nic_gbps"] == 200);
  CHECK(cases[0]["link"] == "roce");
  CHECK(output("calibrate validate --cases " + (folder / "c.json") + " --rows").find("1048576       100.0") !=
        std::string::npos);
}

TEST_CASE("JSON on standard output stands alone, and logs may come through a pipe", "[import]") {
  const Scratch folder;
  write(folder / "test.log", test_log);
  const Ran ran = run_shell("cat " + (folder / "test.log") + " | $fabricast calibrate import /dev/stdin --json -");
  REQUIRE(ran.code == 0);
  const auto logs = nlohmann::json::parse(ran.out);
  CHECK(logs.at(0).at("log") == "/dev/stdin");
  CHECK(logs[0]["tables"][0]["operation"] == "all_gather");
  CHECK(logs[0]["tables"][0]["rows"][0]["time_us"] == 100);
  CHECK(logs[0]["problems"][0]["line"] == 7);
}

const std::string telemetry = FABRICAST_SOURCES "/tests/data/telemetry/";

TEST_CASE("the telemetry of a job is one log, by directory or by files", "[import]") {
  const std::string all = output("calibrate import " + telemetry + "inspector");
  CHECK(all.find(telemetry + "inspector (2 files)\n") == 0);
  CHECK(all.find("inspector all_reduce: 4 rows, 8192 to 4194304 B, 2 ranks on 2 nodes, NCCL 2.28.9, 28 calls") !=
        std::string::npos);
  CHECK(all.find("0x226b4b23400b26, 2 ranks on 2 nodes, 2 seen, 48 calls matched") != std::string::npos);
  const std::string files = output("calibrate import " + telemetry + "inspector/node0-pid1025.log " + telemetry +
                                   "inspector/node1-pid1028.log");
  CHECK(files.substr(files.find('\n')) == all.substr(all.find('\n')));
}

TEST_CASE("gzipped logs and traces are read as unpacked ones, alone and beside them", "[import]") {
  const Scratch folder;
  // Packed by another program, once a file of one piece and once of two.
  const Ran packed =
      run_shell("cd " + (folder / "") + " && cp " + telemetry + "kineto/rank?.json . && gzip rank0.json && " +
                "head -c 3000 rank1.json | gzip > rank1.json.gz && " +
                "tail -c +3001 rank1.json | gzip >> rank1.json.gz && rm rank1.json && ls");
  REQUIRE(packed.out == "rank0.json.gz\nrank1.json.gz\n");
  const auto after_names = [](const std::string& text) { return text.substr(text.find('\n')); };
  const std::string plain =
      output("calibrate import " + telemetry + "kineto/rank0.json " + telemetry + "kineto/rank1.json");
  CHECK(after_names(output("calibrate import " + (folder / ""))) == after_names(plain));
  CHECK(plain.find("kineto ") != std::string::npos);
  write(folder / "test.log", test_log);
  REQUIRE(run_shell("gzip " + (folder / "test.log")).code == 0);
  const Ran log = run_fabricast("calibrate import " + (folder / "test.log.gz"));
  CHECK(log.code == 0);
  CHECK(log.err == (folder / "test.log.gz") + ":7: warning: 2097152 bytes in 150 us are 13.98 GB/s, not 99.99\n");
}

TEST_CASE("cases and a check of telemetry", "[import]") {
  const Scratch folder;
  const std::string two =
      "fabricast: 1\nnode: {gpu: h100-sxm, gpus: 1, intranode: none, nics: {count: 1, rate: 200Gbps, link: roce}}\n"
      "cluster: {nodes: 2}\nworkload: {}\n";
  write(folder / "s.yaml", two);
  const Ran ran = run_fabricast("calibrate import " + telemetry + "inspector --scenario " + (folder / "s.yaml") +
                                " --system lab --output " + (folder / "c.json"));
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto cases = nlohmann::json::parse(read_text(folder / "c.json"));
  REQUIRE(cases.size() == 3);
  CHECK(cases[2]["id"] == "lab-all-reduce-2n1g");
  CHECK(cases[2]["nccl_version"] == "2.28.9");
  CHECK(cases[2]["rows"][0]["bytes"] == 8192);
  CHECK(cases[2]["rows"][0]["time_us"] == 1256);
  // Two ranks that share a GPU over loopback are slow for any cluster.
  const Ran checked = run_fabricast("check " + telemetry + "inspector --scenario " + (folder / "s.yaml"));
  INFO(checked.err);
  CHECK(checked.code == 1);
  CHECK(checked.out.find("not healthy") != std::string::npos);
  CHECK(checked.out.find("     all_reduce         8192     1256.00") != std::string::npos);
}

TEST_CASE("a check of dumps and states names who is behind", "[import]") {
  const Scratch folder;
  write(folder / "s.yaml", scenario);
  const std::string dumps = telemetry + "flight-recorder/hang_rank_";
  const Ran shown = run_fabricast("calibrate import " + dumps + "0 " + dumps + "1");
  CHECK(shown.out.find("rank 1 on " + dumps + "1: others wait for it: has launched 1 call, others 3") !=
        std::string::npos);
  const Ran ras = run_fabricast("check " + telemetry + "ras/a.json --scenario " + (folder / "s.yaml"));
  INFO(ras.err);
  CHECK(ras.code == 0);
  CHECK(ras.out.find("no measured times: telemetry shows no rank at fault") != std::string::npos);
  CHECK(ras.out.find("rank 1 on 127.0.0.1, process 1024, GPU 0: perhaps others wait for it") != std::string::npos);
}

TEST_CASE("a directory may hold logs of several kinds, and must hold some", "[import]") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "d");
  const Ran empty = run_fabricast("calibrate import " + (folder / "d"));
  CHECK(empty.code == 2);
  CHECK(empty.err.find("has no files") != std::string::npos);
  write(folder / "d/test.log", test_log);
  write(folder / "d/.hidden", test_log);
  write(folder / "d/notes.txt", "nothing to see\n");
  std::filesystem::copy_file(telemetry + "ras/a.json", folder / "d/ras.json");
  const std::string all = output("calibrate import " + (folder / "d"));
  CHECK(all.find("all_gather: 1 row") != std::string::npos);
  CHECK(all.find("telemetry      ras, 0 records of 3 communicators") != std::string::npos);
  CHECK(all.find("notes") == std::string::npos);
}

TEST_CASE("a fabric and its tables are counted, and what looks wrong is named", "[import]") {
  const Scratch folder;
  const std::string file = folder / "fabric.yaml";
  const Ran ran = run_fabricast(
      "import fabric scenarios/imported/ibnetdiscover.txt --lft scenarios/imported/lfts.dump "
      "--slurm scenarios/imported/topology.conf --output " +
      file);
  CHECK(ran.code == 0);
  CHECK(ran.out ==
        "scenarios/imported/ibnetdiscover.txt: ibnetdiscover\n"
        "hosts         16  2 NIC ports each\n"
        "switches       4  leaf\n"
        "switches       2  spine\n"
        "cables        32  NIC to leaf, 200Gbps\n"
        "cables         1  leaf to spine, 100Gbps\n"
        "cables        31  leaf to spine, 200Gbps\n"
        "tables         6  124 paths, from each leaf to each NIC port, of up to 4 cables\n");
  CHECK(ran.err ==
        "scenarios/imported/ibnetdiscover.txt: warning: ib-leaf-b1 port 25 to ib-spine-2 port 9 runs at 100Gbps, but "
        "most such links run at 200Gbps\n"
        "  hint: the width or speed is degraded, or the cable is of a different kind\n");
  // What was written forecasts as what it was made of.
  const std::string same = "run scenarios/imported_fabric.yaml --json -";
  CHECK(nlohmann::json::parse(output(same)).at("fingerprint") ==
        nlohmann::json::parse(output(same + " --set fabric.path=" + file)).at("fingerprint"));
}

}  // namespace
}  // namespace fabricast
