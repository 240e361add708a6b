// Whole commands at scale: wall time and peak memory of `fabricast run`, against the targets of docs/benchmarks.md.
//
//   bench_scale [--repeats N] [--chunk-limit SECONDS] [--growth GPUS]
//
// With --growth only: one size and seed, intervals as by default, from 1,024 GPUs to so many in steps of four, by
// algorithm; then ECMP seeds and a training step. The exponents are of processor time, from 16,384 GPUs on.
//
// Each row is the best of N runs of the command as a user types it, process start included. The last one runs the chunk
// engine on the ring that the flow engine has just timed; it is stopped at the limit, and the ratio is then a lower
// bound.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/commands.hpp"

using namespace fabricast::bench;

namespace {

/// `path=[1KiB, 2KiB, ...]`
std::string powers_of_two(const std::string& path, int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += fmt::format("{}{}KiB", i ? ", " : "", 1L << i);
  return fmt::format("{}=[{}]", path, list);
}

constexpr auto base = R"(fabricast: 1
node: {gpu: h100-sxm, gpus: 8}
cluster: {nodes: 128}
fabric: {kind: fat_tree, switch: {ports: 256}}
routing: {kind: ecmp, seeds: 1}
workload: {collective: all_reduce, sizes: [1GiB]}
)";

/// An algorithm with its own kind of nodes: PAT is for one GPU in each.
struct Algorithm {
  std::string name;
  int gpus;
  std::vector<std::string> sets;
};

Usage best_of(int repeats, const std::string& scenario, const std::vector<std::string>& sets,
              const std::vector<std::string>& options) {
  Usage best{1e9, 1e9, 0, false};
  for (int r = 0; r < repeats; ++r)
    if (const Usage u = measure(scenario, sets, 900, options); u.finished && u.processor < best.processor) best = u;
  return best;
}

void print_row(const std::string& what, const Usage& u) {
  if (u.finished)
    fmt::print("{:44} {:9.3f} {:12.3f} {:9.0f}\n", what, u.seconds, u.processor, u.megabytes);
  else
    fmt::print("{:44} {:>9}\n", what, "stopped");
  std::fflush(stdout);
}

void print_growth(const std::string& scenario, int repeats, long most) {
  const std::string pairs = "node={gpu: h100-sxm, gpus: 1, nics: {count: 1}}";
  const std::vector<Algorithm> algorithms = {
      {"all_reduce ring", 8, {"nccl.env.NCCL_ALGO=Ring", "nccl.env.NCCL_PROTO=Simple"}},
      {"all_reduce tree", 8, {"nccl.env.NCCL_ALGO=Tree", "nccl.env.NCCL_PROTO=Simple"}},
      {"all_reduce nvlstree", 8, {"nccl.env.NCCL_ALGO=NVLSTree"}},
      {"all_gather pat", 1, {pairs, "nccl.env.NCCL_ALGO=PAT", "workload.collective=all_gather"}}};
  fmt::print("{:44} {:>9} {:>12} {:>9}\n", "fabricast run", "s", "processor s", "MB");
  for (const Algorithm& a : algorithms) {
    double first = 0, last = 0, factor = 1;
    for (long gpus = 1024; gpus <= most; gpus *= 4) {
      std::vector<std::string> sets = a.sets;
      sets.push_back(fmt::format("cluster.nodes={}", gpus / a.gpus));
      const Usage u = best_of(repeats, scenario, sets, {});
      print_row(fmt::format("{}, {} GPUs", a.name, gpus), u);
      if (gpus == 16384) first = u.processor;
      if (gpus > 16384) last = u.processor, factor = static_cast<double>(gpus) / 16384;
    }
    if (factor > 1) fmt::print("  N^{:.2f} from 16,384 GPUs\n", std::log(last / first) / std::log(factor));
  }
  const std::string nodes = fmt::format("cluster.nodes={}", most / 8);
  for (const std::string name : {"Ring", "Tree", "NVLSTree"})
    print_row(fmt::format("{}, {} GPUs, 100 seeds, no intervals", name, most),
              best_of(1, scenario, {nodes, "routing.seeds=100", "nccl.env.NCCL_ALGO=" + name}, {"--no-intervals"}));
  const std::string step =
      "workload={kind: training_step, memory: ignore, model: {preset: llama3-405b}, "
      "batch: {global: 65536}, parallel: {tensor: 8, sequence: true, pipeline: 16}}";
  for (const bool intervals : {false, true})
    print_row(fmt::format("405B step, {} GPUs{}", most, intervals ? "" : ", no intervals"),
              best_of(1, scenario, {nodes, step, fmt::format("workload.batch.global={}", most / 16)},
                      intervals ? std::vector<std::string>{} : std::vector<std::string>{"--no-intervals"}));
}

}  // namespace

int main(int argc, char** argv) {
  int repeats = 3;
  double limit = 60;
  long growth = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--repeats") repeats = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--chunk-limit") limit = std::atof(argv[i + 1]);
    if (std::string(argv[i]) == "--growth") growth = std::atol(argv[i + 1]);
  }
  const std::string scenario =
      std::filesystem::temp_directory_path() / fmt::format("fabricast_scale_{}.yaml", getpid());
  std::ofstream(scenario) << base;
  if (growth > 0) {
    print_growth(scenario, repeats, growth);
    std::filesystem::remove(scenario);
    return 0;
  }
  const std::string rails = "fabric.kind=rail_optimized", ring = "nccl.env.NCCL_ALGO=Ring";
  const std::vector<Row> rows = {
      {"16,384 GPUs, fat tree", {"cluster.nodes=2048"}, 0.2, 200},
      {"16,384 GPUs, rails", {"cluster.nodes=2048", rails}, 0.2, 200},
      {"131,072 GPUs, fat tree", {"cluster.nodes=16384"}, 1, 500},
      {"131,072 GPUs, rails", {"cluster.nodes=16384", rails}, 1, 500},
      {"1,048,576 GPUs, fat tree", {"cluster.nodes=131072"}, 10, 4096},
      {"1,048,576 GPUs, rails", {"cluster.nodes=131072", rails}, 10, 4096},
      {"16,384 GPUs, 1,000 seeds, tree", {"cluster.nodes=2048", "routing.seeds=1000"}, 3, 500},
      {"16,384 GPUs, 1,000 seeds, ring", {"cluster.nodes=2048", "routing.seeds=1000", ring}, 3, 500},
      {"512 GPUs, 25 sizes, 16 seeds",
       {"cluster.nodes=64", "routing.seeds=16", powers_of_two("workload.sizes", 25)},
       0.1,
       100},
      {"1,048,576 GPUs, 16 seeds, NVLSTree",
       {"cluster.nodes=131072", "routing.seeds=16", "nccl.env.NCCL_ALGO=NVLSTree"},
       30,
       4096}};
  std::vector<double> seconds;
  const bool met = run_rows(scenario, rows, repeats, seconds);
  const auto exponent = [&](std::size_t small, std::size_t large, double factor) {
    return std::log(seconds[large] / seconds[small]) / std::log(factor);
  };
  fmt::print("growth of time from 16 k to 1 M GPUs: N^{:.2f} fat tree, N^{:.2f} rails (target 1.1)\n",
             exponent(0, 4, 64), exponent(1, 5, 64));

  const std::vector<std::string> kilo = {"cluster.nodes=128", rails, ring, "nccl.env.NCCL_PROTO=Simple"};
  std::vector<std::string> by_chunk = kilo;
  by_chunk.emplace_back("network.engine=chunk");
  const Usage flow = measure(scenario, kilo, limit), chunk = measure(scenario, by_chunk, limit);
  fmt::print("1 GiB ring on 1,024 GPUs: flow {:.3f} s, chunk {}{:.1f} s: {}{:.0f} times faster (target 1,000)\n",
             flow.seconds, chunk.finished ? "" : "> ", chunk.seconds, chunk.finished ? "" : "> ",
             chunk.seconds / flow.seconds);
  std::filesystem::remove(scenario);
  return met && chunk.seconds >= 1000 * flow.seconds ? 0 : 1;
}
