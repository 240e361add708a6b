// What limits a step and what would help, as text and JSON.
//
// what_if.cpp decides both; this file prints them. A step has two answers to what limits it: the busiest stage,
// and the kind of parallelism that computation waits for most.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "../common/json_parts.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/step_advice.hpp"
#include "step_time.hpp"
#include "trials.hpp"

namespace fabricast {

namespace {

std::string binding_text(const StepForecast& f) {
  const StepBinding b = binding_of(f);
  const StepTime time = step_time_of(f);
  const auto percent = [&](Seconds t) { return 100 * (t / f.time); };
  std::string out = "#\n# what limits the step\n";
  if (f.stages.size() > 1) {
    out += fmt::format("  {} waits for other stages {:.1f} % of the step; the others wait {:.1f} % (mean)",
                       f.program.actors[b.stage].name, percent(b.waits), percent(b.others));
    // An imbalance below what changes are reported for is not worth a line.
    if (b.more >= least_step_gain * f.time)
      out += fmt::format("\n    it spends {:.4g} s more on {} than the others, {:.1f} %", b.more.value, name_of(b.part),
                         percent(b.more));
    out += "\n";
  }
  if (b.collective < 0) return out + "  computation: no communication is exposed\n";
  const CollectiveUse& use = f.collectives[static_cast<std::size_t>(b.collective)];
  out += fmt::format("  longest exposed communication: {} parallelism, {:.4g} s, {:.1f} %\n", name_of(use.kind.part),
                     b.exposed.value, percent(b.exposed));
  return out +
         fmt::format("    {}, {} call{} of {} B by {}/{} at {:.2f} GB/s (bus), bound by {}\n", use.kind.name, use.calls,
                     use.calls == 1 ? "" : "s", use.kind.bytes, use.alone.algorithm, use.alone.protocol,
                     bus_rate(f.program, use) * 1e-9, use.alone.bottleneck) +
         "  " + resources_text(f.world, time, buffers_of(f.world, time)) + "\n";
}

// The step and the saved seconds are absolute, for comparison with a measured step; the percentage is of the step.
std::string what_if_line(const StepForecast& f, const StepWhatIf& w) {
  std::string out =
      fmt::format("  {:<44} {:>10.4g} {:>10.4g} {:>6.1f}", w.what, w.time.value, (f.time - w.time).value, 100 * w.gain);
  // Memory is shown only where it changes by more than 0.5 %, or does not fit.
  if (!w.fits || std::abs(fractional(w.memory) / f.memory.peak().total() - 1) > 0.005)
    out += fmt::format("  {:>8.1f}", gibibytes(w.memory));
  out += "\n   ";
  for (const std::string& word : w.set) out += fmt::format(" --set '{}'", word);
  if (w.interval) out += fmt::format("   # {}", gain_text(*w.interval));
  return out + "\n";
}

}  // namespace

std::string explain_step_text(const StepExplanation& explanation) {
  const StepForecast& f = explanation.forecast;
  std::string out = step_text(f) + binding_text(f);
  std::string fits, cures, large;
  // `cures` are changes that make a step fit that does not fit, even where they cost time.
  for (const StepWhatIf& w : explanation.what_ifs)
    (!w.fits ? large : w.gain < least_step_gain ? cures : fits) += what_if_line(f, w);
  if (fits.empty() && cures.empty() && large.empty())
    return out + fmt::format("\nno change that was tried gains {:.1f} % or more\n", 100 * least_step_gain);
  if (!fits.empty())
    out += "\nwhat would help                                  step (s)   gain (s) gain %  GiB if changed\n" + fits;
  if (!cures.empty())
    out += fmt::format("\nwhat would make it fit in {:.1f} GiB              step (s)   gain (s) gain %       GiB\n",
                       gibibytes(f.memory.capacity)) +
           cures;
  if (!large.empty())
    out += fmt::format("\nwhat would help, but does not fit in {:.1f} GiB    step (s)   gain (s) gain %       GiB\n",
                       gibibytes(f.memory.capacity)) +
           large;
  return out;
}

std::string explain_step_json(const StepExplanation& explanation) {
  const StepForecast& f = explanation.forecast;
  Json j = Json::parse(step_json(f));
  const StepBinding b = binding_of(f);
  Json binding = Json::object();
  const StepTime time = step_time_of(f);
  binding["sms"] = digits(time.sms);
  binding["nccl_buffers_gib"] = digits(gibibytes(buffers_of(f.world, time)));
  // With one stage nothing waits for other stages.
  if (f.stages.size() > 1) {
    binding["stage"] = f.program.actors[b.stage].name;
    binding["waits_s"] = digits(b.waits);
    binding["others_wait_s"] = digits(b.others);
    if (b.more > Seconds{}) binding["more"] = {{"part", name_of(b.part)}, {"seconds", digits(b.more)}};
  }
  if (b.collective >= 0) {
    const CollectiveUse& use = f.collectives[static_cast<std::size_t>(b.collective)];
    binding["exposed_most"] = {{"part", name_of(use.kind.part)},
                               {"seconds", digits(b.exposed)},
                               {"collective", use.kind.name},
                               {"busbw_gbps", digits(bus_rate(f.program, use) * 1e-9)},
                               {"bottleneck", use.alone.bottleneck}};
  }
  j["binding"] = std::move(binding);
  Json helps = Json::array();
  for (const StepWhatIf& w : explanation.what_ifs) {
    helps.push_back({{"what", w.what},
                     {"set", w.set},
                     {"step_s", digits(w.time)},
                     {"gain", digits(w.gain)},
                     {"gain_s", digits(f.time - w.time)},
                     {"memory_gib", digits(gibibytes(w.memory))},
                     {"fits", w.fits}});
    if (w.interval)
      helps.back().update({{"gain_low", digits((*w.interval)[0])}, {"gain_high", digits((*w.interval)[2])}});
  }
  j["what_would_help"] = std::move(helps);
  return j.dump(1) + "\n";
}

}  // namespace fabricast
