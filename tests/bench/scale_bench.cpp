// Whole commands at scale: wall time and peak memory of `fabricast run`, against the targets of docs/benchmarks.md.
//
//   bench_scale [--repeats N] [--chunk-limit SECONDS]
//
// Each row is the best of N runs of the command as a user types it, process start included. The last one runs the chunk
// engine on the ring that the flow engine has just timed; it is stopped at the limit, and the ratio is then a lower
// bound.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Usage {
  double seconds = 0, megabytes = 0;
  bool finished = false;
};

Usage measure(const std::string& scenario, const std::vector<std::string>& sets, double limit) {
  std::vector<std::string> words = {FABRICAST_BINARY, "run", "--no-intervals", scenario};
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stdout)) _exit(127);
    alarm(static_cast<unsigned>(limit));
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), static_cast<double>(used.ru_maxrss) / 1024, WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

struct Row {
  std::string what;
  std::vector<std::string> sets;
  double most_seconds, most_megabytes;
};

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

}  // namespace

int main(int argc, char** argv) {
  int repeats = 3;
  double limit = 60;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--repeats") repeats = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--chunk-limit") limit = std::atof(argv[i + 1]);
  }
  const std::string scenario =
      std::filesystem::temp_directory_path() / fmt::format("fabricast_scale_{}.yaml", getpid());
  std::ofstream(scenario) << base;
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
  fmt::print("{:34} {:>9} {:>9} {:>9} {:>9}\n", "fabricast run", "s", "MB", "target s", "target MB");
  bool met = true;
  std::vector<double> seconds;
  for (const Row& row : rows) {
    Usage best{1e9, 0, false};
    for (int r = 0; r < repeats; ++r) {
      const Usage u = measure(scenario, row.sets, 600);
      if (u.finished && u.seconds < best.seconds) best = u;
    }
    const bool ok = best.finished && best.seconds <= row.most_seconds && best.megabytes <= row.most_megabytes;
    met &= ok;
    seconds.push_back(best.seconds);
    fmt::print("{:34} {:9.3f} {:9.0f} {:9.1f} {:9.0f}{}\n", row.what, best.seconds, best.megabytes, row.most_seconds,
               row.most_megabytes, ok ? "" : "  missed");
  }
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
