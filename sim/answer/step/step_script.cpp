// Recommended settings for a step as a shell script, to be sourced by a job script (report/step_settings.hpp).
#include <fmt/format.h>

#include "fabricast/core/text.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/step_advice.hpp"
#include "step_time.hpp"

namespace fabricast {

namespace {

std::string time_text(const World& world, const StepTime& t) {
  const bool serves = world.scenario().workload.kind == WorkloadKind::inference;
  const bool tokens = serves && goal_of(world) == InferenceGoal::tokens;
  if (tokens) return fmt::format("{:.4g} tokens per second and GPU", 1 / t.time.value);
  return serves ? fmt::format("a step of {:.4g} ms", milliseconds(t.time))
                : fmt::format("a step of {:.4g} s", t.time.value);
}

std::string setting_lines(const World& world, const StepSetting& s, bool first, std::string_view prefix) {
  std::string out = fmt::format("\n# {}: {}{}\n# {}\n", s.what, gain_text(s.gain), first ? "" : " on top of the above",
                                resources_text(world, s.time, s.buffers));
  for (const Variable& v : s.variables) out += std::string(prefix) + comment_text(shell_command(v)) + "\n";
  return out;
}

}  // namespace

std::string resources_text(const World& world, const StepTime& t, Bytes buffers) {
  return fmt::format("collectives occupy {:.1f} of {} SMs on average; their NCCL buffers take {:.2f} GiB per GPU",
                     t.sms, gpu_of(world.scenario()).sheet.multiprocessors, gibibytes(buffers));
}

std::string gain_text(const GainInterval& gain) {
  return fmt::format("gain {:.1f} %, {:.1f} to {:.1f}", 100 * gain[1], 100 * gain[0], 100 * gain[2]);
}

std::string step_settings_script(const StepSettings& s) {
  const Communicator& comm = s.world.planner().comm;
  const auto& env = s.world.scenario().nccl.env;
  std::string out =
      fmt::format("# NCCL settings by fabricast {}: {}\n", version_text(), comment_text(s.world.scenario().name));
  out += fmt::format("# {} on {} ranks = {} x {} {}, NCCL {}\n", time_text(s.world, s.before), comm.ranks(),
                     counted(comm.nodes(), "node"), comm.gpus(), comm.node.gpu.name, to_text(comm.version));
  out += fmt::format("# {}\n", resources_text(s.world, s.before, s.buffers));
  out += "# A gain is the share of the time that is saved, with its 90 % interval.\n";
  // The gains hold on top of the variables of the scenario, which the script does not set.
  if (!env.empty()) {
    out += "# In addition to the variables that the scenario sets:";
    for (const auto& [name, value] : env) out += " " + comment_text(name);
    out += "\n";
  }
  if (s.taken.empty())
    out += fmt::format("# No setting that was tried gains {:.1f} % or more with certainty.\n", 100 * least_step_gain);
  for (const StepSetting& t : s.taken) out += setting_lines(s.world, t, &t == &s.taken.front(), "");
  if (!s.taken.empty())
    out += fmt::format("\n# All together: {}; {}\n", gain_text(s.gain), time_text(s.world, s.after));
  if (!s.unsure.empty()) out += "\n# Not recommended: the interval of the gain contains 0.\n";
  // As comments, so that a reader can try them by removing one character.
  for (const StepSetting& u : s.unsure) out += setting_lines(s.world, u, s.taken.empty(), "#   ");
  return out;
}

}  // namespace fabricast
