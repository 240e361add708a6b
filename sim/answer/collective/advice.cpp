// Recommended NCCL settings (report/what_if.hpp) as text for people and as a shell script.
//
// The text and the script print the same record (Advice). Both use forecast times: neither has been compared with
// measurements before and after a change. The script is meant for `source` in a job script, so its explanations are
// shell comments.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

// Both outputs state the weighting, because a list of sizes is not a list of how often a job calls them. A size that is
// listed twice in `workload.sizes` counts twice (docs/models/what-if.md).
constexpr std::string_view rule = "sizes have equal weight; a gain is a geometric mean over them";

/// "4.1 to 49.4 % at 32KiB..1MiB, 3.0 % at 8GiB": runs of neighbouring sizes whose change is at least `least_gain`.
/// \param sign  1: sizes that gain; -1: sizes that lose
std::string spans(const Forecast& forecast, const Advised& a, double sign) {
  const auto gain = [&](std::size_t i) { return sign * (1 - a.change.times[i] / a.before[i]); };
  const auto size = [&](std::size_t i) { return to_text(Bytes{forecast.rows[i].bytes}); };
  std::string out;
  for (std::size_t i = 0; i < forecast.rows.size(); ++i) {
    if (gain(i) < least_gain) continue;
    const std::size_t first = i;
    double low = gain(i), high = low;
    for (; i + 1 < forecast.rows.size() && gain(i + 1) >= least_gain; ++i) {
      low = std::min(low, gain(i + 1));
      high = std::max(high, gain(i + 1));
    }
    out += out.empty() ? "" : ", ";
    const std::string range = fmt::format("{:.1f} to {:.1f} % at {}..{}", 100 * low, 100 * high, size(first), size(i));
    out += first == i ? fmt::format("{:.1f} % at {}", 100 * high, size(i)) : range;
  }
  return out;
}

/// Where a setting helps and where it hurts.
std::string sides(const Forecast& forecast, const Advised& a) {
  const std::string more = spans(forecast, a, 1), less = spans(forecast, a, -1);
  return "saves " + more + (less.empty() ? "" : "; costs " + less);
}

/// "1MiB", or "21 sizes, 1KiB to 1GiB".
std::string sizes_text(const Forecast& forecast) {
  const std::size_t n = forecast.rows.size();
  const std::string first = to_text(Bytes{forecast.rows.front().bytes});
  return n == 1 ? first : fmt::format("{} sizes, {} to {}", n, first, to_text(Bytes{forecast.rows.back().bytes}));
}

// A value for POSIX shells. Nothing is special between single quotes, so only the quote itself needs replacing: close,
// an escaped quote, open again. Values come from scenarios, which the script must not execute.
std::string quoted(const std::string& value) {
  std::string out = "'";
  for (const char c : value) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Whether a variable applies to all operations. Lists by operation exist from 2.24 on [NCCL-env].
bool for_all_operations(const Communicator& comm, const std::string& variable) {
  return comm.version < NcclVersion{2, 24, 0} && (variable == "NCCL_ALGO" || variable == "NCCL_PROTO");
}

}  // namespace

// A variable without a value is one that the scenario sets and the advice removes, e.g. a forced NCCL_ALGO. The script
// must unset it, because the shell that sources the script may have exported it.
std::string shell_command(const Variable& v) {
  return v.value ? fmt::format("export {}={}", v.name, quoted(*v.value)) : fmt::format("unset {}", v.name);
}

std::string advice_text(const Advice& advice) {
  std::string out =
      fmt::format("\nrecommended settings for {}, {}:\n", sizes_text(advice.before), name_of(advice.before.op));
  if (advice.taken.empty()) out += fmt::format("  no change that was tried gains {:.0f} % or more\n", 100 * least_gain);
  const auto list = [&](const Advised& a) {
    out += fmt::format("  {:<44} {:>6.1f} %\n    {}\n   ", a.change.what, 100 * a.change.gain, sides(advice.before, a));
    for (const std::string& word : a.change.set) out += fmt::format(" --set '{}'", word);
    out += "\n";
  };
  for (const Advised& a : advice.taken) list(a);
  if (!advice.taken.empty())
    out += fmt::format("  {:<44} {:>6.1f} %\n  ({}; each gain is on top of the lines above)\n", "all of these",
                       100 * advice.gain, rule);
  if (!advice.mixed.empty()) out += "settings that help at some sizes, but not overall:\n";
  for (const Advised& a : advice.mixed) list(a);
  return out;
}

std::string env_script(const Advice& advice) {
  const World& world = advice.before.world;
  const Communicator& comm = world.planner().comm;
  std::string out =
      fmt::format("# NCCL settings by fabricast {}: {}\n", version_text(), comment_text(world.scenario().name));
  out += fmt::format("# {} of {} on {} ranks = {} x {} {}, NCCL {}\n", name_of(advice.before.op),
                     sizes_text(advice.before), comm.ranks(), counted(comm.nodes(), "node"), comm.gpus(),
                     comm.node.gpu.name, to_text(comm.version));
  out += fmt::format("# Gains are forecast time saved: {}.\n", rule);
  // The gains hold on top of the variables of the scenario, which the script does not set: without them the job runs in
  // another state than the one that was simulated.
  if (!world.scenario().nccl.env.empty()) {
    out += "# In addition to the variables that the scenario sets:";
    for (const auto& [name, value] : world.scenario().nccl.env) out += " " + comment_text(name);
    out += "\n";
  }
  if (advice.taken.empty())
    out += fmt::format("# No setting that was tried gains {:.0f} % or more.\n", 100 * least_gain);
  for (const Advised& a : advice.taken) {
    out += fmt::format("\n# {}: {:.1f} %{}\n# {}\n", a.change.what, 100 * a.change.gain,
                       &a == &advice.taken.front() ? "" : " on top of the above", sides(advice.before, a));
    for (const Variable& v : a.variables) {
      // Advice for one operation then also affects the other operations of the job, which were not simulated.
      if (v.value && for_all_operations(comm, v.name))
        out +=
            fmt::format("# (for all operations: NCCL {} does not support lists by operation)\n", to_text(comm.version));
      out += shell_command(v) + "\n";
    }
  }
  if (!advice.taken.empty()) out += fmt::format("\n# All together: {:.1f} %\n", 100 * advice.gain);
  if (!advice.mixed.empty()) out += "\n# Not recommended: gains at some sizes, but too little overall.\n";
  // As comments, so that a reader with other sizes can try them by removing one character.
  for (const Advised& a : advice.mixed) {
    out += fmt::format("# {}: {:.1f} %; {}\n", a.change.what, 100 * a.change.gain, sides(advice.before, a));
    for (const Variable& v : a.variables) out += "#   " + comment_text(shell_command(v)) + "\n";
  }
  return out;
}

}  // namespace fabricast
