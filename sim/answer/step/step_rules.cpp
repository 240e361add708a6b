// What a tuner should choose for the collectives of a step (report/step_settings.hpp).
//
// One collective after the other, the one that takes most time first: its algorithms, protocols and numbers of channels
// are tried in the step, on top of the rules before it. The step is run as the plugin would make NCCL run it
// (planner/tuner_rules.hpp), so a rule that NCCL does not allow changes nothing and is not kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/step_advice.hpp"
#include "step_time.hpp"

namespace fabricast {

namespace {

/// A call that NCCL asks a tuner about, and its time in the step.
struct Call {
  CollectiveOp op = CollectiveOp::all_reduce;
  TunedShape shape;
  std::uint64_t bytes = 0;
  Seconds time;
  int channels = 1;  ///< now
  bool is(const StepCollective& c) const {
    return op == c.use.kind.op && shape == c.shape && bytes == static_cast<std::uint64_t>(c.use.kind.bytes);
  }
};

/// Calls that take at least `least_step_gain` of the step, in descending order of their time.
std::vector<Call> calls_of(const StepTime& time) {
  std::vector<Call> calls;
  for (const StepCollective& c : time.collectives) {
    if (is_point_to_point(c.use.kind.op) || blocks_of(c.use.alone) == 0) continue;
    auto call = std::find_if(calls.begin(), calls.end(), [&](const Call& known) { return known.is(c); });
    if (call == calls.end())
      call = calls.insert(call, {c.use.kind.op, c.shape, static_cast<std::uint64_t>(c.use.kind.bytes), {}, 1});
    call->time += c.callers * c.use.time;
    call->channels = std::max(call->channels, c.use.alone.channels);
  }
  std::erase_if(calls, [&](const Call& c) { return c.time < least_step_gain * time.passes; });
  std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.time > b.time; });
  return calls;
}

/// A rule for sizes about one: up to the geometric mean with the next size that the step sends, but at most half an
/// octave, because only this size was simulated.
TunerRule rule_about(const Call& call, const std::vector<Call>& calls, const TunerRule& choice) {
  const double half_octave = std::sqrt(2.0);
  const auto bytes = static_cast<double>(call.bytes);
  double low = bytes / half_octave, high = bytes * half_octave;
  for (const Call& other : calls) {
    if (other.op != call.op || other.shape != call.shape || other.bytes == call.bytes) continue;
    const double between = std::sqrt(bytes * static_cast<double>(other.bytes));
    (other.bytes < call.bytes ? low : high) =
        other.bytes < call.bytes ? std::max(low, between) : std::min(high, between);
  }
  TunerRule rule = choice;
  rule.from = static_cast<std::uint64_t>(std::ceil(low));
  rule.to = std::max(call.bytes, static_cast<std::uint64_t>(std::ceil(high)) - 1);
  return rule;
}

std::vector<TunerRules> with_rule(std::vector<TunerRules> all, const Call& call, const TunerRule& rule) {
  auto table = std::find_if(all.begin(), all.end(),
                            [&](const TunerRules& t) { return t.op == call.op && t.shape == call.shape; });
  if (table == all.end()) table = all.insert(all.end(), {call.op, call.shape, {}});
  const auto at =
      std::find_if(table->rules.begin(), table->rules.end(), [&](const TunerRule& r) { return r.from > rule.from; });
  table->rules.insert(at, rule);
  return all;
}

World tuned(const World& world, std::vector<TunerRules> rules) {
  Scenario s = world.scenario();
  s.nccl.tuner = std::move(rules);
  return build_world(std::move(s)).with_beside(world.beside());
}

/// A choice that was run in the step.
struct Tried {
  TunerRule rule;
  World world;
  StepTime time;
};

/// The search for one call.
class CallSearch {
 public:
  CallSearch(const World& world, const std::vector<TunerRules>& rules, const std::vector<Call>& calls, const Call& call,
             int threads)
      : world_(world), rules_(rules), calls_(calls), call_(call), threads_(threads) {}

  /// The choice with which the step is fastest; none if nothing can run.
  std::optional<Tried> best() const {
    std::vector<TunerRule> choices;
    for (std::size_t a = 0; a < algorithm_count; ++a)
      for (std::size_t p = 0; p < 3; ++p)
        choices.push_back({0, 0, static_cast<Algorithm>(a), static_cast<Protocol>(p), call_.channels, {}});
    std::vector<Tried> tried = run(choices);
    // Numbers of channels are varied for the two best only, as in tables for collectives.
    choices.clear();
    for (std::size_t i = 0; i < std::min<std::size_t>(2, tried.size()); ++i)
      for (const int n : {1, 2, 4, 6, 8, 12, 16, 24, 32})
        if (n != call_.channels && n <= world_.planner().comm.channels) {
          choices.push_back(tried[i].rule);
          choices.back().channels = n;
        }
    for (Tried& t : run(choices)) tried.push_back(std::move(t));
    const auto least = std::min_element(tried.begin(), tried.end(),
                                        [](const Tried& a, const Tried& b) { return a.time.time < b.time.time; });
    return least == tried.end() ? std::nullopt : std::optional(std::move(*least));
  }

 private:
  /// Whether the call runs as the rule says.
  bool obeyed(const TunerRule& rule, const StepTime& time) const {
    return std::any_of(time.collectives.begin(), time.collectives.end(), [&](const StepCollective& c) {
      return call_.is(c) && c.use.alone.algorithm == name_of(rule.algorithm) &&
             c.use.alone.protocol == name_of(rule.protocol);
    });
  }

  /// \returns the choices that NCCL allows, fastest first
  std::vector<Tried> run(const std::vector<TunerRule>& choices) const {
    std::vector<std::optional<Tried>> outcomes(choices.size());
    in_parallel(choices.size(), static_cast<std::size_t>(threads_), [&](std::size_t i) {
      stop_if_requested();
      const TunerRule rule = rule_about(call_, calls_, choices[i]);
      Tried t{rule, tuned(world_, with_rule(rules_, call_, rule)), {}};
      t.time = step_time_of(t.world, one_thread);
      if (obeyed(rule, t.time)) outcomes[i] = std::move(t);
    });
    std::vector<Tried> tried;
    for (std::optional<Tried>& t : outcomes)
      if (t) tried.push_back(std::move(*t));
    std::stable_sort(tried.begin(), tried.end(),
                     [](const Tried& a, const Tried& b) { return a.time.time < b.time.time; });
    return tried;
  }

  const World& world_;
  const std::vector<TunerRules>& rules_;
  const std::vector<Call>& calls_;
  const Call& call_;
  int threads_;
};

}  // namespace

World collective_world(const World& world) {
  Scenario s = world.scenario();
  s.workload = WorkloadSection{};
  return build_world(std::move(s));
}

std::vector<TunerRules> step_tuner_rules(const World& world, bool certain, const RunOptions& options) {
  require_step(world);
  if (!world.scenario().nccl.tuner.empty())
    throw UserError::at("nccl.env.NCCL_TUNER_CONFIG_FILE", "a profile already makes the choices",
                        "remove it to make a new one");
  SampledStep now = sampled_step(world, step_time_of(world, part_of(options, 0, 0.05)), part_of(options, 0.05, 0.15));
  const std::vector<Call> calls = calls_of(now.time);
  const int threads = static_cast<int>(thread_count(options.threads));
  std::vector<TunerRules> rules;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto best = CallSearch(world, rules, calls, calls[i], threads).best();
    const double done = static_cast<double>(i + 1) / static_cast<double>(calls.size());
    if (options.progress) options.progress(0.15 + 0.85 * done);
    if (!best || 1 - best->time.time / now.time.time < least_step_gain) continue;
    SampledStep after = sampled_step(best->world, best->time, {options.threads, {}});
    TunerRule rule = best->rule;
    rule.gain = gain_interval(now, after);
    if (certain && rule.gain[0] <= 0) continue;
    rules = with_rule(std::move(rules), calls[i], rule);
    now = std::move(after);
  }
  return rules;
}

}  // namespace fabricast
