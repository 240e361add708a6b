// Whole training steps at scale: wall time and peak memory of `fabricast run`, against the targets of docs/benchmarks.md.
//
//   bench_steps [REPEATS]
//
// Each row is the best of so many runs (3) of the command as a user types it, process start included.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/commands.hpp"

using namespace fabricast::bench;

namespace {

constexpr auto base = R"(fabricast: 1
node: {profile: hgx-h100-roce}
cluster: {nodes: 128}
fabric: {kind: fat_tree, switch: {ports: 64}}
routing: {kind: ecmp, seed: 1, seeds: 16}
workload: {kind: training_step, memory: ignore, model: {preset: llama3-405b}, batch: {global: 128}, parallel: {tensor: 8}}
)";

constexpr auto dense =
    "{{kind: training_step, memory: ignore, model: {{preset: llama3-405b}}, batch: {{global: {}}}, "
    "parallel: {{tensor: 8, sequence: true, pipeline: 16}}}}";
constexpr auto sharded =
    "{{kind: training_step, memory: ignore, framework: fsdp, model: {{preset: llama3-70b}}, "
    "batch: {{global: {}}}}}";
constexpr auto experts =
    "{{kind: training_step, memory: ignore, model: {{preset: deepseek-v3}}, batch: {{global: {}}}, "
    "parallel: {{pipeline: 16, expert: 64}}}}";

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 3;
  const std::string scenario =
      std::filesystem::temp_directory_path() / fmt::format("fabricast_steps_{}.yaml", getpid());
  std::ofstream(scenario) << base;
  std::vector<Row> rows;
  for (const int nodes : {128, 2048}) {
    const double target = nodes == 128 ? 1 : 10;
    const auto add = [&](const char* what, const char* workload, int batch, bool ecmp) {
      std::vector<std::string> sets = {fmt::format("cluster.nodes={}", nodes),
                                       "workload=" + fmt::format(fmt::runtime(workload), batch)};
      if (!ecmp) sets.emplace_back("routing={kind: adaptive}");
      rows.push_back(
          {fmt::format("{} GPUs, {}, {}", 8 * nodes, what, ecmp ? "16 ECMP samples" : "adaptive"), sets, target, 1000});
    };
    for (const bool ecmp : {false, true}) {
      add("405B", dense, nodes, ecmp);
      add("70B FSDP", sharded, 8 * nodes, ecmp);
      add("671B MoE", experts, 8 * nodes, ecmp);
    }
  }
  std::vector<double> seconds;
  const bool met = run_rows(scenario, rows, repeats, seconds);
  std::filesystem::remove(scenario);
  return met ? 0 : 1;
}
