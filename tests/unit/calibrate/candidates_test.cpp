// Candidate runs on a system, and their command lines.
#include "calibrate/fit/candidates.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

namespace fabricast {
namespace {

MeasuredCase case_on(int nodes) {
  MeasuredCase c;
  c.id = "one", c.system = "lab", c.collective = "all_reduce", c.gpu = "a100-sxm", c.intranode = "nvswitch";
  c.nodes = nodes, c.gpus_per_node = 8;
  c.env = {{"NCCL_ALGO", "Tree"}, {"NCCL_NET_GDR_LEVEL", "2"}, {"OMP_NUM_THREADS", "1"}};
  c.harness = {{"tool", "host_timed"}, {"ranks_per_process", "8"}, {"threads", "2"}, {"iterations", "5"}};
  c.rows = {{8, 20}};
  return c;
}

std::set<int> nodes_of(const std::vector<MeasuredCase>& runs) {
  std::set<int> nodes;
  for (const MeasuredCase& run : runs) nodes.insert(run.nodes);
  return nodes;
}

TEST_CASE("candidates keep a system's variables, except algorithm and protocol", "[calibrate]") {
  const std::vector<MeasuredCase> runs = candidate_runs({case_on(1)});
  CHECK(nodes_of(runs) == std::set<int>{1});  // no network is known
  CHECK(std::count_if(runs.begin(), runs.end(), is_free) == 5);
  CHECK(runs.front().env == std::map<std::string, std::string>{{"NCCL_NET_GDR_LEVEL", "2"}});
  CHECK(command_of(runs.front()) ==
        "1 node, 1 process: NCCL_NET_GDR_LEVEL=2 all_reduce_perf -b 8 -e 256M -f 2 -t 2 -g 4");
  for (const MeasuredCase& run : runs) {
    const CaseRunner runner(run);  // the scenario runs, and the rows are as forced
    Hardware hardware = shipped_hardware();
    for (const ForecastOfCase::Row& row : runner.run(hardware).rows)
      CHECK(is_as_forced(run, row.algorithm, row.protocol));
  }
}

TEST_CASE("candidates run on one node, two, and the largest measured number", "[calibrate]") {
  std::vector<MeasuredCase> cases;
  for (const int nodes : {4, 16, 1, 64}) {
    cases.push_back(case_on(nodes));
    cases.back().link = "infiniband";
  }
  const std::vector<MeasuredCase> runs = candidate_runs(cases);
  CHECK(nodes_of(runs) == std::set<int>{1, 2, 16});  // 64 nodes have more ranks than tell anything new
  CHECK(command_of(runs.back()).starts_with("16 nodes, 16 processes: "));
  for (const MeasuredCase& run : runs)
    if (run.collective == "alltoall") CHECK(run.nodes * run.gpus_per_node <= 64);
}

}  // namespace
}  // namespace fabricast
