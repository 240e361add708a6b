// `fabricast-watch`: what it prints once, and what it serves while files grow.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <thread>

#include "support/command_line.hpp"
#include "support/telemetry.hpp"

namespace fabricast {
namespace {

const std::string program = FABRICAST_WATCH_BINARY;

void append(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

/// Lines of one rank of four, on two hosts; rank 2 is late, and the call takes 1,000 us.
std::string calls_of(int rank, int from, int to, bool late) {
  std::string lines;
  for (int n = from; n < to; ++n) {
    InspectorCall c;
    c.rank = rank;
    c.ranks = 4;
    c.nodes = 2;
    c.sequence = n;
    c.bytes = 1 << 30;
    c.time_us = 10'000 + (late && rank != 2 ? 5'000 : 0) + rank;
    c.when += n * 20'000 + rank;
    lines += inspector_line(c);
  }
  return lines;
}

std::string value_of(const std::string& metrics, const std::string& name) {
  const std::size_t at = metrics.find("\n" + name + "{");
  if (at == std::string::npos) return {};
  const std::size_t end = metrics.find('\n', at + 1), space = metrics.rfind(' ', end);
  return metrics.substr(space + 1, end - space - 1);
}

TEST_CASE("one interval of files as OpenMetrics, with what is expected", "[watch]") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "job");
  for (int r = 0; r < 4; ++r) append(folder / ("job/rank" + std::to_string(r) + ".log"), calls_of(r, 0, 40, true));
  append(folder / "s.yaml",
         "fabricast: 1\nnode: {gpu: h100-sxm, gpus: 2, intranode: nvswitch, nics: {count: 2, rate: 400Gbps, link: "
         "infiniband}}\ncluster: {nodes: 2}\nworkload: {}\n");
  const Ran ran = run_shell(program + " " + (folder / "job") + " --once --scenario " + (folder / "s.yaml"));
  INFO(ran.out << ran.err);
  CHECK(ran.code == 1);
  CHECK(ran.err.find("late: rank node1, process 1002: most ranks wait 4999.0 us for it (1 communicator)") !=
        std::string::npos);
  // 2^30 B in 10,002 us, times 2 x 3 / 4.
  CHECK(value_of(ran.out, "fabricast_busbw_bytes_per_second") == "1.61029e+11");
  CHECK(value_of(ran.out, "fabricast_calls") == "40");
  CHECK(ran.out.find("fabricast_finding{kind=\"late\",part=\"rank\",place=\"node1, process 1002\"") !=
        std::string::npos);
  const double expected = std::stod(value_of(ran.out, "fabricast_busbw_expected_bytes_per_second"));
  const double floor = std::stod(value_of(ran.out, "fabricast_busbw_floor_bytes_per_second"));
  CHECK(floor > 0);
  CHECK(floor < expected);
  CHECK(std::stod(value_of(ran.out, "fabricast_busbw_ratio")) == Approx(1.61029e11 / expected).epsilon(1e-4));
  CHECK(std::stod(value_of(ran.out, "fabricast_busbw_ratio_low")) < 1);
  CHECK(ran.out.ends_with("# EOF\n"));
  append(folder / "metrics.txt", ran.out);
  // Where Prometheus is installed, its own tool reads the text.
  const Ran promtool =
      run_shell("command -v promtool >/dev/null || exit 0; promtool check metrics < " + (folder / "metrics.txt"));
  INFO(promtool.err);
  CHECK(promtool.out.find("error") == std::string::npos);
}

TEST_CASE("metrics follow files that grow, over HTTP on a loopback address", "[watch]") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "job");
  const auto file = [&](int r) { return folder / ("job/rank" + std::to_string(r) + ".log"); };
  for (int r = 0; r < 4; ++r) append(file(r), calls_of(r, 0, 40, false));
  // Waits until what is served has a word, for at most ten seconds.
  const auto until = [&](const std::string& word, const std::string& to) {
    return "for i in $(seq 100); do curl -s $url > " + (folder / to) + "; grep -q '" + word + "' " + (folder / to) +
           " && break; sleep 0.1; done\n";
  };
  const std::string script =
      "out=" + (folder / "out") + "\n" + program + " " + (folder / "job") +
      " --listen 127.0.0.1:0 --interval 1 > $out 2> " + (folder / "err") +
      " & pid=$!\nfor i in $(seq 100); do grep -q http $out && break; sleep 0.1; done\nurl=$(cat $out)\n" +
      until("fabricast_records_total 160", "first") + "for r in 0 1 2 3; do cat " + (folder / "more") + "$r >> " +
      (folder / "job/rank") + "$r.log; done\n" + until("fabricast_finding{", "second") +
      "curl -s -o /dev/null -w '%{http_code}' -d x=1 $url\nkill $pid; wait $pid; exit 0\n";
  for (int r = 0; r < 4; ++r) append(folder / ("more" + std::to_string(r)), calls_of(r, 40, 80, true));
  if (run_shell("command -v curl").code != 0) return;
  const Ran ran = run_shell(script);
  INFO(ran.out << ran.err << read_text(folder / "err"));
  CHECK(read_text(folder / "out").starts_with("http://127.0.0.1:"));
  const std::string first = read_text(folder / "first"), second = read_text(folder / "second");
  CHECK(first.find("fabricast_records_total 160") != std::string::npos);
  CHECK(value_of(first, "fabricast_finding").empty());
  CHECK(value_of(second, "fabricast_finding") == "1");
  CHECK(second.find("place=\"node1, process 1002\"") != std::string::npos);
  CHECK(std::stoi(second.substr(second.find("fabricast_records_total ") + 24)) > 160);
  // Nothing may be sent to it.
  CHECK(ran.out.find("200") == std::string::npos);
}

TEST_CASE("the rules for Prometheus are valid, and name metrics that are served", "[watch]") {
  const Ran rules =
      run_shell("command -v promtool >/dev/null || exit 0; promtool check rules docs/calibrate/watch/rules.yml");
  INFO(rules.out << rules.err);
  CHECK(rules.code == 0);
  const Scratch folder;
  append(folder / "a.log", calls_of(0, 0, 1, false));
  const std::string served = run_shell(program + " " + (folder / "a.log") + " --once").out;
  for (const char* file : {"rules.yml", "dashboard.json"}) {
    const std::string text = read_text(std::string(FABRICAST_SOURCE_DIR) + "/docs/calibrate/watch/" + file);
    for (std::size_t at = 0; (at = text.find("fabricast_", at)) != std::string::npos;) {
      std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at);
      std::string name = text.substr(at, end - at);
      if (name.ends_with("_total")) name.resize(name.size() - 6);
      INFO(file << ": " << name);
      CHECK(served.find("# TYPE " + name + " ") != std::string::npos);
      at = end;
    }
  }
}

TEST_CASE("wrong options of fabricast-watch are told", "[watch]") {
  CHECK(run_shell(program + " --once").code == 2);
  const Ran address = run_shell(program + " x --listen nowhere");
  CHECK(address.code == 2);
  CHECK(address.err.find("--listen 'nowhere' is not an address") != std::string::npos);
  CHECK(run_shell(program + " --help").out.find("FILE-OR-DIRECTORY") != std::string::npos);
}

}  // namespace
}  // namespace fabricast
