// The command line of nccl-tests for a scenario, and its floors as shell variables. The meaning of NCCL_TESTS_MIN_BW is
// taken from the source of nccl-tests: a run fails if the mean of all printed bus bandwidths (all sizes, out of place
// and in place) is below 0.9 of the variable [nccl-tests-min-bw].
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "fabricast/core/error.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/gate/gate.hpp"
#include "fabricast/report/report.hpp"
#include "gate_rows.hpp"

namespace fabricast {

namespace {

bool is_variable(const std::string& name) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), allowed);
}

// Line breaks and control characters cannot be written safely in every format.
bool is_plain(const std::string& value) {
  return std::all_of(value.begin(), value.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
}

/// "mpirun -np 16 -N 8 ", for a comment.
std::string launcher_text(const TestCommand& command) {
  if (!command.launched()) return {};
  return fmt::format("mpirun -np {} -N {} ", command.processes, command.processes_per_host());
}

}  // namespace

TestCommand test_command(const Scenario& scenario, std::int64_t ranks) {
  const HarnessSpec& harness = scenario.workload.harness;
  if (harness.tool != Tool::nccl_tests)
    throw UserError::at("workload.harness.tool",
                        fmt::format("the scenario is timed by {}, but the test is nccl-tests", name_of(harness.tool)),
                        "--set workload.harness.tool=nccl_tests");
  TestCommand command;
  // As the scenario runs the benchmark: one process per GPU, per host, or anything between.
  command.processes = ranks / harness.ranks_per_process;
  command.hosts = scenario.cluster.nodes;
  for (const auto& [name, value] : scenario.nccl.env) {
    if (!is_variable(name) || !is_plain(value))
      throw UserError::at("nccl.env", fmt::format("the script cannot set '{}' to its value", shown(name, 80)),
                          "use letters, digits and _ in names, and printable ASCII in values");
    command.environment.emplace_back(name, value);
  }
  return command;
}

std::string test_program(CollectiveOp op) { return fmt::format("{}_perf", name_of(op)); }

// `-g` is GPUs per thread, and `-R` registers buffers: 1 locally, 2 as symmetric windows.
std::string test_arguments(const Scenario& scenario, const GateSweep& sweep) {
  const WorkloadSection& workload = scenario.workload;
  const HarnessSpec& harness = workload.harness;
  std::string out = fmt::format("-b {} -e {}", sweep.from, sweep.to);
  if (sweep.factor > 1) out += fmt::format(" -f {}", sweep.factor);
  if (harness.threads > 1) out += fmt::format(" -t {}", harness.threads);
  out += fmt::format(" -g {} -w 5 -n {}", harness.ranks_per_process / std::max(1, harness.threads), harness.iterations);
  if (workload.buffers != Buffers::plain) out += workload.buffers == Buffers::registered ? " -R 1" : " -R 2";
  return out;
}

double minimum_of_tests(const GateSweep& sweep) {
  constexpr double lenience = 0.9;
  return gigabytes_per_second(sweep.floor_average) / lenience;
}

std::string shell_quoted(const std::string& value) {
  std::string out = "'";
  for (const char c : value) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string gate_env(const Gate& gate) {
  const World& world = gate.world;
  const TestCommand command = test_command(world.scenario(), world.planner().comm.ranks());
  std::string out =
      fmt::format("# Floors for nccl-tests by fabricast {}: {}\n", version_text(), plain_name(world.scenario()));
  out += fmt::format(
      "# The mean bus bandwidth of a run on a healthy cluster is below its floor with probability {} at most.\n"
      "# nccl-tests fails below 0.9 of NCCL_TESTS_MIN_BW (GB/s), so the variable is the floor divided by 0.9. The mean "
      "is\n"
      "# taken over all sizes of the run, so the variable holds for this command line only.\n",
      chance_text(gate.probability));
  for (const auto& [name, value] : command.environment) out += fmt::format("export {}={}\n", name, shell_quoted(value));
  for (std::size_t i = 0; i < gate.sweeps.size(); ++i) {
    const GateSweep& sweep = gate.sweeps[i];
    const std::string arguments = test_arguments(world.scenario(), sweep), program = test_program(sweep.op);
    out += fmt::format("\n# expected {:.4g} GB/s, floor {:.4g} GB/s\n", gigabytes_per_second(sweep.expected_average),
                       gigabytes_per_second(sweep.floor_average));
    out += fmt::format("# NCCL_TESTS_MIN_BW={:.6g} {}{} {}\n", minimum_of_tests(sweep), launcher_text(command), program,
                       arguments);
    out += fmt::format("export GATE_{0}_TEST={1}\nexport GATE_{0}_ARGUMENTS='{2}'\nexport GATE_{0}_MIN_BW={3:.6g}\n",
                       i + 1, program, arguments, minimum_of_tests(sweep));
  }
  // The variable of nccl-tests itself is set only if there is one run: with several it would hold for one of them only.
  out += fmt::format("\nexport GATE_TESTS_COUNT={}\n", gate.sweeps.size());
  if (gate.sweeps.size() == 1)
    out += fmt::format("export NCCL_TESTS_MIN_BW={:.6g}\n", minimum_of_tests(gate.sweeps.front()));
  return out;
}

}  // namespace fabricast
