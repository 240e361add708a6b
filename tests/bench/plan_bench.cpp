// A sweep of 1,000 rows of collectives on fabrics of 512 nodes, with 90 % intervals and report: time, memory, bytes.
//
//   bench_plan [--seeds N] [more options of `fabricast plan`]
//
// Rows are 4 oversubscriptions x 5 collectives x 5 sizes x N seeds (default 10), four ECMP samples each.
#include <filesystem>
#include <fstream>

#include "bench/commands.hpp"

using namespace fabricast::bench;

namespace {

constexpr auto sweep = R"(fabricast: 1
node: {{profile: hgx-h100}}
cluster: {{nodes: 512}}
fabric: {{kind: fat_tree, switch: {{ports: 64}}}}
routing: {{kind: ecmp, seeds: 4}}
workload: {{collective: all_reduce, sizes: [1GiB]}}
sweep:
  fabric.oversubscription: [1, 2, 3, 7]
  workload.collective: [all_reduce, all_gather, reduce_scatter, broadcast, alltoall]
  workload.sizes: [[1MiB], [8MiB], [64MiB], [256MiB], [1GiB]]
  routing.seed: {{from: 1, to: {}, step: 1}}
)";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> more(argv + 1, argv + argc);
  int seeds = 10;
  if (more.size() >= 2 && more.front() == "--seeds") {
    seeds = std::atoi(more[1].c_str());
    more.erase(more.begin(), more.begin() + 2);
  }
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("fabricast_plan_{}", getpid());
  std::filesystem::create_directory(folder);
  const std::string scenario = folder / "sweep.yaml", report = folder / "report.html";
  std::ofstream(scenario) << fmt::format(sweep, seeds);
  std::vector<std::string> words = {"plan", scenario, "--html", report};
  words.insert(words.end(), more.begin(), more.end());
  const Usage u = measure_command(words, 1200);
  const auto bytes = u.finished ? std::filesystem::file_size(report) : 0;
  std::filesystem::remove_all(folder);
  const bool met = u.finished && u.seconds <= 120 && bytes < 2'000'000;
  fmt::print(
      "{} rows: {:.1f} s, of processor time {:.1f} s, {:.0f} MB, report {} bytes (targets 120 s, 2,000,000 bytes){}\n",
      100 * seeds, u.seconds, u.processor, u.megabytes, bytes, met ? "" : "  missed");
  return met ? 0 : 1;
}
