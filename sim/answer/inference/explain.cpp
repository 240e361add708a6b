// What limits an inference step and what would help, as text and JSON.
//
// what_if.cpp decides what limits and what helps; this file prints it. The answer is about the passes that
// should become shorter (binding_passes), which are not always those of the decode step.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "../common/json_parts.hpp"
#include "../step/step_time.hpp"
#include "../step/trials.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "parts.hpp"

namespace fabricast {

namespace {

/// A name for binding_passes.
std::string_view passes_name(const World& world, const InferenceForecast& f) {
  if (world.scenario().workload.inference.phase == InferencePhase::prefill) return "prompts";
  return &binding_passes(f) == &f.step ? "decode step" : "one prompt";
}

// Phase both only. Without disaggregated prefill, a request's time between tokens is longer than a decode step because
// prompts of others are computed in between; the excess is the share of prompts.
std::string requests_text(const World& world, const InferenceForecast& f) {
  if (f.disaggregated) {
    const DisaggregatedForecast& d = *f.disaggregated;
    const ServingLimit limit = limit_of(world, d);
    const std::string_view what = limit == ServingLimit::prompts       ? "prompts"
                                  : limit == ServingLimit::kv_transfer ? "KV-cache transfers"
                                                                       : "decoding";
    std::string out = fmt::format("  requests: limited by {}; prompts and transfers {:.4g} /s, decoding {:.4g} /s\n",
                                  what, d.prefill_rate, d.decode_rate);
    if (limit == ServingLimit::kv_transfer)
      out +=
          fmt::format("    by {}, bound by {}\n", name_of(world.scenario().workload.inference.disaggregated.transfer),
                      d.collective.alone.bottleneck);
    return out;
  }
  if (!f.shared) return {};
  return fmt::format("  requests: prompts take {:.1f} % of the time between tokens\n",
                     100 * std::max(0.0, 1 - decoding_per_token(f) / f.shared->inter_token.mean));
}

/// Which part of the time to a prompt's first token is the load of its prefix.
std::string prefix_binding(const InferenceForecast& f) {
  if (!f.prefix) return {};
  const PrefixForecast& p = *f.prefix;
  return fmt::format("  first token of a prompt with a prefix: {:.1f} % is the load of the prefix, bound by {}\n",
                     100 * (p.load / p.first_token()), p.bottleneck);
}

/// The longest collective of the exposed communication. \pre b.collective >= 0
std::string longest_text(const TimedPasses& passes, const InferenceBinding& b) {
  const CollectiveUse& use = passes.collectives[static_cast<std::size_t>(b.collective)];
  return fmt::format("{}, {:g} call{} of {} B by {}/{} at {:.2f} GB/s (bus), bound by {}", use.kind.name, use.calls,
                     use.calls == 1 ? "" : "s", use.kind.bytes, use.alone.algorithm, use.alone.protocol,
                     bus_rate(passes.program, use) * 1e-9, use.alone.bottleneck);
}

// Two answers, because they differ: the largest component of the time, and the communication that would be worth a
// faster network. The second is given with its bottleneck even if computation dominates.
std::string binding_text(const World& world, const InferenceForecast& f) {
  const TimedPasses& passes = binding_passes(f);
  const InferenceBinding b = binding_of(passes);
  const StepTime time = step_time_of(f);
  const auto percent = [&](Seconds t) { return 100 * (t / passes.time); };
  std::string out = "#\n# what limits it\n" + requests_text(world, f) + prefix_binding(f);
  out += fmt::format("  {}: mostly {}, {:.4g} ms, {:.1f} %\n", passes_name(world, f), b.part, milliseconds(b.time),
                     percent(b.time));
  if (b.collective < 0 && !b.own) return out + "  no communication is exposed\n";
  const Part part = b.own ? Part::tensor : passes.collectives[static_cast<std::size_t>(b.collective)].kind.part;
  out += fmt::format("  longest exposed communication: {} parallelism, {:.4g} ms, {:.1f} %\n", name_of(part),
                     milliseconds(b.exposed), percent(b.exposed));
  out += "    " + (b.own ? own_all_reduces_text(passes.own) : longest_text(passes, b)) + "\n";
  return out + "  " + resources_text(world, time, buffers_of(world, time)) + "\n";
}

// Both figures are always shown, the time of the step and the tokens per GPU: many changes improve one at the cost of
// the other.
std::string what_if_line(const InferenceForecast& f, const InferenceWhatIf& w) {
  std::string out = fmt::format("  {:<46} {:>10.4g} {:>9.4g} {:>8.1f} {:>8.1f}", w.what, milliseconds(w.step), w.tokens,
                                100 * (1 - w.step / step_time(f)), 100 * w.more_tokens);
  // Memory is shown only where it changes by more than 0.5 %, or does not fit.
  if (!w.fits || std::abs(fractional(w.memory) / f.memory.total() - 1) > 0.005)
    out += fmt::format(" {:>6.1f}", gibibytes(w.memory));
  out += "\n   ";
  for (const std::string& word : w.set) out += fmt::format(" --set '{}'", word);
  if (w.interval) out += fmt::format("   # {}", gain_text(*w.interval));
  return out + "\n";
}

std::string section(const std::string& title, const std::string& lines) {
  if (lines.empty()) return {};
  return fmt::format("\n{:<48} {:>10} {:>9} {:>8} {:>8} {:>6}\n", title, "step (ms)", "tok/s/GPU", "step -%", "tok +%",
                     "GiB") +
         lines;
}

}  // namespace

std::string explain_inference_text(const InferenceExplanation& explanation) {
  const World& world = explanation.forecast.world;
  const InferenceForecast& f = explanation.forecast;
  const bool tokens = goal_of(world) == InferenceGoal::tokens;
  std::string fits, trades, large;
  // Three lists: changes that gain on the goal, changes that only increase the throughput (such as a larger batch, for
  // a goal of step time), and changes that the memory does not allow.
  for (const InferenceWhatIf& w : explanation.what_ifs)
    (!w.fits ? large : w.gain < least_inference_gain ? trades : fits) += what_if_line(f, w);
  const std::string out = inference_text(f) + binding_text(world, f);
  if (fits.empty() && trades.empty() && large.empty())
    return out + fmt::format("\nno change that was tried gains {:.1f} % or more\n", 100 * least_inference_gain);
  return out + section(tokens ? "what would increase throughput" : "what would shorten the step", fits) +
         section("higher throughput, but a longer step", trades) +
         section(fmt::format("what would help, but does not fit in {:.1f} GiB", gibibytes(f.capacity)), large);
}

std::string explain_inference_json(const InferenceExplanation& explanation) {
  const World& world = explanation.forecast.world;
  const InferenceForecast& f = explanation.forecast;
  Json j = Json::parse(inference_json(f));
  const TimedPasses& passes = binding_passes(f);
  const InferenceBinding b = binding_of(passes);
  Json binding{{"of", &passes == &f.step ? "step" : "prompt"}, {"part", b.part}, {"seconds", digits(b.time)}};
  if (b.own) {
    binding["exposed_most"] = {
        {"part", name_of(Part::tensor)}, {"seconds", digits(b.exposed)}, {"collective", own_all_reduce_label}};
  } else if (b.collective >= 0) {
    const CollectiveUse& use = passes.collectives[static_cast<std::size_t>(b.collective)];
    binding["exposed_most"] = {{"part", name_of(use.kind.part)},
                               {"seconds", digits(b.exposed)},
                               {"collective", use.kind.name},
                               {"busbw_gbps", digits(bus_rate(passes.program, use) * 1e-9)},
                               {"bottleneck", use.alone.bottleneck}};
  }
  const StepTime time = step_time_of(f);
  binding["sms"] = digits(time.sms);
  binding["nccl_buffers_gib"] = digits(gibibytes(buffers_of(world, time)));
  if (f.disaggregated) binding["limit"] = name_of(limit_of(world, *f.disaggregated));
  j["binding"] = std::move(binding);
  j["goal"] = name_of(goal_of(world));
  Json helps = Json::array();
  for (const InferenceWhatIf& w : explanation.what_ifs) {
    helps.push_back({{"what", w.what},
                     {"set", w.set},
                     {"step_s", digits(w.step)},
                     {"tokens_per_s_per_gpu", digits(w.tokens)},
                     {"gain", digits(w.gain)},
                     {"more_tokens", digits(w.more_tokens)},
                     {"memory_gib", digits(gibibytes(w.memory))},
                     {"fits", w.fits}});
    if (w.interval)
      helps.back().update({{"gain_low", digits((*w.interval)[0])}, {"gain_high", digits((*w.interval)[2])}});
  }
  j["what_would_help"] = std::move(helps);
  return j.dump(1) + "\n";
}

}  // namespace fabricast
