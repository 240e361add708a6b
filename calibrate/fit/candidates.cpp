// Lists the runs of nccl-tests that `calibrate fit --advise` chooses from (advise.cpp). The list is short on purpose:
// each entry is forecast with every parameter moved. Forced algorithms and protocols are what separates parameters that
// NCCL's own choice uses in only one range of sizes.
#include "candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

/// Variables that the candidates set themselves.
constexpr std::array chosen = {"NCCL_ALGO",          "NCCL_PROTO",    "NCCL_MIN_NCHANNELS",
                               "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"};
constexpr int most_ranks = 256, most_ranks_alltoall = 64;  // more ranks take long and add no other information

/// The case as a run of nccl-tests, without rows and without the variables that candidates set.
MeasuredCase plain_run(MeasuredCase c) {
  for (const char* variable : chosen) c.env.erase(variable);
  // The command line shows only variables of NCCL. Others, such as those of MPI, belong to the launcher.
  std::erase_if(c.env, [](const auto& entry) { return !entry.first.starts_with("NCCL_"); });
  c.harness["tool"] = "nccl_tests";
  // The advised command has no -n, so nccl-tests runs its default number of iterations.
  c.harness.erase("iterations");
  c.set_aside.clear();
  c.rows.clear();
  return c;
}

void add_sizes(MeasuredCase& run) {
  // Smaller sizes would leave ranks without an element.
  const bool is_split = run.collective == "all_gather" || run.collective == "alltoall";
  // The two ends of each size band. Rows of a band err together, so more of them add little, and the ends show best how
  // a time is split into latency and bandwidth.
  for (const std::int64_t bytes :
       {is_split ? 1 << 10 : 1 << 3, 1 << 15, 1 << 16, 1 << 19, 1 << 20, 1 << 25, 1 << 26, 1 << 28})
    run.rows.push_back({bytes, 1});
}

/// Values of NCCL_ALGO and NCCL_PROTO; empty: NCCL's own choice.
struct Forced {
  std::string algorithm, protocol;
  bool one_channel = false;
};

std::vector<Forced> forced_choices(const std::string& collective) {
  std::vector<Forced> list{{}};
  // nccl-tests makes both of sends and receives, for which NCCL has no algorithm to choose.
  if (collective == "sendrecv" || collective == "alltoall") return list;
  const bool is_reduction = collective == "all_reduce";
  for (const char* protocol : {"LL", "LL128", "Simple"}) {
    list.push_back({"Ring", protocol});
    // NCCL's tree supports only all_reduce. One channel shows the latency and rate of a single thread block, which many
    // channels hide behind the limits of links.
    if (!is_reduction) continue;
    list.push_back({"Tree", protocol});
    list.push_back({"Ring", protocol, true});
  }
  return list;
}

std::string size_text(std::int64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{}M", bytes >> 20);
  return bytes >= 1 << 10 ? fmt::format("{}K", bytes >> 10) : fmt::format("{}", bytes);
}

}  // namespace

std::vector<MeasuredCase> candidate_runs(const std::vector<MeasuredCase>& cases) {
  const auto has_network = [](const MeasuredCase& c) { return !c.link.empty(); };
  // A case on several nodes shows the settings that the network was run with. A case on one node of a machine with a
  // network is the second choice.
  const auto several =
      std::find_if(cases.begin(), cases.end(), [&](const MeasuredCase& c) { return c.nodes > 1 && has_network(c); });
  const auto network = several != cases.end() ? several : std::find_if(cases.begin(), cases.end(), has_network);
  const auto one = std::find_if(cases.begin(), cases.end(), [](const MeasuredCase& c) { return c.nodes == 1; });
  const MeasuredCase host = plain_run(one != cases.end() ? *one : cases.front());
  std::set<int> nodes{1};
  if (network != cases.end()) {
    nodes.insert(2);
    for (const MeasuredCase& c : cases)
      if (c.nodes * c.gpus_per_node <= most_ranks) nodes.insert(c.nodes);
    // The largest number differs most from two.
    if (nodes.size() > 3) nodes = {1, 2, *nodes.rbegin()};
  }
  std::vector<MeasuredCase> runs;
  for (const int n : nodes) {
    const MeasuredCase& like = n == 1 ? host : plain_run(*network);
    if (n * like.gpus_per_node < 2 || n * like.gpus_per_node > most_ranks) continue;
    for (const std::string collective : {"all_reduce", "all_gather", "broadcast", "sendrecv", "alltoall"}) {
      if (collective == "alltoall" && n * like.gpus_per_node > most_ranks_alltoall) continue;
      for (const Forced& forced : forced_choices(collective)) {
        MeasuredCase run = like;
        run.nodes = n;
        run.collective = collective;
        // NCCL_ALGO and NCCL_PROTO are set together: one alone leaves the choice of the other to NCCL's cost model.
        if (!forced.algorithm.empty()) {
          run.env["NCCL_ALGO"] = forced.algorithm;
          run.env["NCCL_PROTO"] = forced.protocol;
        }
        if (forced.one_channel) run.env["NCCL_MIN_NCHANNELS"] = run.env["NCCL_MAX_NCHANNELS"] = "1";
        add_sizes(run);
        run.id = fmt::format("candidate-{}", runs.size() + 1);
        runs.push_back(std::move(run));
      }
    }
  }
  return runs;
}

bool is_free(const MeasuredCase& run) { return !run.env.contains("NCCL_ALGO"); }

bool is_as_forced(const MeasuredCase& run, Algorithm algorithm, Protocol protocol) {
  // Candidates spell the values as NCCL documents them ("Ring", "LL128"), the program's names are lower case.
  return is_free(run) || (lower_case(run.env.at("NCCL_ALGO")) == name_of(algorithm) &&
                          lower_case(run.env.at("NCCL_PROTO")) == name_of(protocol));
}

std::string command_of(const MeasuredCase& run) {
  // nccl-tests runs -t threads with -g GPUs each in a process, so -g is the number of ranks per process divided by -t.
  const int per_process = harness_number(run, "ranks_per_process"), threads = harness_number(run, "threads");
  const int processes = run.nodes * run.gpus_per_node / per_process;
  std::string command =
      fmt::format("{}, {} process{}:", counted(run.nodes, "node"), processes, processes == 1 ? "" : "es");
  for (const auto& [key, value] : run.env) command += fmt::format(" {}={}", key, value);
  command += fmt::format(" {}_perf -b {} -e {} -f 2", run.collective, size_text(run.rows.front().bytes),
                         size_text(run.rows.back().bytes));
  if (threads > 1) command += fmt::format(" -t {}", threads);
  return command + fmt::format(" -g {}", std::max(1, per_process / threads));
}

}  // namespace fabricast
