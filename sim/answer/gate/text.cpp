// Floors and verdicts as text.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/gate/gate.hpp"
#include "fabricast/report/report.hpp"
#include "gate_rows.hpp"

namespace fabricast {

namespace {

std::string gate_heading(const World& world) {
  const Communicator& comm = world.planner().comm;
  std::string out = heading_line(world.scenario().name);
  out += fmt::format("# {} ranks = {} x {} {}, NCCL {}, timed as by {}\n", comm.ranks(), counted(comm.nodes(), "node"),
                     comm.gpus(), comm.node.gpu.name, to_text(comm.version),
                     name_of(world.scenario().workload.harness.tool));
  if (!world.scenario().faults.empty())
    out += "# the scenario has faults: the floors are those of a cluster with these faults\n";
  return out;
}

// What a floor means is part of the output, since floors are copied to places where nobody reads these documents.
std::string meaning_text(const Gate& gate) {
  std::string out = fmt::format(
      "# a healthy cluster, like the measured ones, is below the floor of a row with probability {}: on average\n"
      "# {:.2g} of these {} rows, which are correlated. A cluster above its floors may still be slower than it should\n"
      "# be, and a floor does not show how slow a broken cluster is: `fabricast check` looks for causes\n",
      chance_text(gate.probability), gate.probability * static_cast<double>(gate.rows.size()), gate.rows.size());
  if (gate.measured > 0) return out + fmt::format("# conditioned on {} measured rows of this site\n", gate.measured);
  return out +
         "# no measurements of this site are given, so the floors are low: `--measured LOG` of a healthy run raises "
         "them\n";
}

std::string sweep_text(const World& world, const GateSweep& sweep) {
  return fmt::format("  {} {}\n    mean {:.4g} GB/s, floor {:.4g} GB/s: NCCL_TESTS_MIN_BW={:.6g}\n",
                     test_program(sweep.op), test_arguments(world.scenario(), sweep),
                     gigabytes_per_second(sweep.expected_average), gigabytes_per_second(sweep.floor_average),
                     minimum_of_tests(sweep));
}

}  // namespace

std::string chance_text(double probability) { return fmt::format("1 in {:.4g}", 1 / probability); }

std::string plain_name(const Scenario& scenario) {
  std::string out = comment_text(scenario.name);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return out;
}

std::string gate_text(const Gate& gate) {
  const World& world = gate.world;
  std::string out = gate_heading(world) + meaning_text(gate);
  out +=
      "#\n#      collective         size    expected     ceiling   expected      floor  floor is\n"
      "#                         (B)        (us)        (us)     (GB/s)     (GB/s)       (%)\n";
  for (const GateRow& r : gate.rows)
    out += fmt::format("  {:>15} {:>12} {:>11.2f} {:>11.2f} {:>10.2f} {:>10.2f} {:>9.1f}{}\n", name_of(r.op), r.asked,
                       microseconds(r.expected), microseconds(r.ceiling), gigabytes_per_second(r.expected_bandwidth),
                       gigabytes_per_second(r.floor_bandwidth), 100 * r.expected / r.ceiling,
                       r.printed ? "" : "  nccl-tests skips this size");
  if (!gate.sweeps.empty())
    out += "\nfor nccl-tests, which fails if the mean over the sizes is below 0.9 of NCCL_TESTS_MIN_BW:\n";
  for (const GateSweep& sweep : gate.sweeps) out += sweep_text(world, sweep);
  return out;
}

std::string verdict_text(const Scenario& scenario, const GateVerdict& verdict) {
  std::string out = heading_line(scenario.name);
  const std::size_t below = verdict.below(), count = verdict.rows.size();
  const double chance = verdict.probability * static_cast<double>(count);
  // Wrong results outweigh any time.
  if (!verdict.wrong.empty())
    out += "does not pass: results are wrong, so data are corrupted in transit, and times mean little\n";
  else if (below > 0)
    out += fmt::format("does not pass: {} of {} rows are below their floors\n", below, count);
  else
    out += fmt::format("passes: all {} rows are above their floors\n", count);
  for (const WrongRow& w : verdict.wrong)
    out += fmt::format("  {} of {} B: {} wrong results\n", name_of(w.op), w.bytes, w.results);
  out += fmt::format("on a healthy cluster {:.2g} of {} rows are below on average ({} each); rows are correlated\n",
                     chance, count, chance_text(verdict.probability));
  out +=
      "\n#      collective         size    measured     ceiling   measured      floor  p-value\n"
      "#                         (B)        (us)        (us)     (GB/s)     (GB/s)\n";
  for (const GateJudgement& r : verdict.rows)
    out += fmt::format("  {:>15} {:>12} {:>11.2f} {:>11.2f} {:>10.2f} {:>10.2f} {:>8.2g}  {}\n", name_of(r.op), r.bytes,
                       microseconds(r.measured), microseconds(r.ceiling), gigabytes_per_second(r.bandwidth),
                       gigabytes_per_second(r.floor_bandwidth), r.chance, r.below() ? "below" : "above");
  if (below > 0) out += "\n`fabricast check` with the same log looks for causes\n";
  return out;
}

}  // namespace fabricast
