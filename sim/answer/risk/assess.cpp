// Assembles the answer of `fabricast risk` (risk/risk.hpp, docs/models/risk.md).
//
//    trials.cpp     forecasts the job with some links slow or down
//    elements.cpp   components of the fabric by kind and role
//    effects.cpp    simulates a sample of each class
//    events.cpp     effects + rates of section `reliability` -> rows of the report, model of a month
//    month.cpp      samples months
//
// Simulations are the expensive part, and depend on rates of links only. Months take microseconds, so changes of rates,
// repairs and checkpoints are tried on the same effects.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "events.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/samples.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

namespace {

// Each month has a generator of its own, seeded by its number: the result does not depend on threads, and what-ifs use
// the same seeds.
std::vector<MonthOutcome> sample_months(const MonthModel& model, const RiskOptions& options) {
  std::vector<MonthOutcome> months(static_cast<std::size_t>(options.samples));
  in_parallel(months.size(), thread_count(options.run.threads), [&](std::size_t i) {
    Rng rng(mix64(mix64(options.seed) + i));
    months[i] = sample_month(model, rng);
  });
  return months;
}

std::string cause_of(const RiskClass& row) {
  return std::string(name_of(row.component)) + " " + std::string(name_of(row.mishap));
}

/// Mean hours by name, the largest first. Losses below a second per month are left out.
std::vector<LostTime> listed(const std::map<std::string, double>& seconds, double samples) {
  std::vector<LostTime> list;
  for (const auto& [cause, sum] : seconds)
    if (std::abs(sum) >= samples) list.push_back({cause, sum / samples / 3600});
  std::stable_sort(list.begin(), list.end(), [](const LostTime& a, const LostTime& b) { return a.hours > b.hours; });
  return list;
}

// Two lists of the same hours, by cause and by kind. With the useful time each adds up to the month.
void add_losses(const std::vector<MonthOutcome>& months, const Outlook& outlook, MonthForecast& f) {
  std::map<std::string, double> causes, kinds;
  for (const MonthOutcome& m : months) {
    for (std::size_t s = 0; s < m.sources.size(); ++s) {
      const MonthOutcome::Source& lost = m.sources[s];
      causes[cause_of(outlook.rows[outlook.row_of_source[s]])] += lost.total();
      kinds["slower steps"] += lost.slow;
      kinds["repeated work"] += lost.redone;
      kinds["restarts"] += lost.restart;
      kinds["waiting for hosts"] += lost.waiting;
    }
    for (auto* list : {&causes, &kinds}) {
      (*list)["checkpoints"] += m.saving, (*list)["survived flaps"] += m.stalls;
      (*list)["run-to-run variation"] += m.network_samples;
    }
  }
  const auto samples = static_cast<double>(months.size());
  f.lost = listed(causes, samples);
  f.lost_by_kind = listed(kinds, samples);
}

/// Quantiles of the step time over all steps of all months.
void add_steps(const std::vector<MonthOutcome>& months, MonthForecast& f) {
  std::map<double, double> count;
  double all = 0;
  for (const MonthOutcome& m : months)
    // Months record time by duration of the step; quantiles are over steps, so time is divided by duration.
    for (const auto& [seconds, time] : m.steps) {
      count[seconds] += time / seconds;
      all += time / seconds;
    }
  const Seconds worst{count.empty() ? 0 : count.rbegin()->first};
  const auto at = [&](double fraction) {
    double sum = 0;
    for (const auto& [seconds, steps] : count)
      if (sum += steps; sum >= fraction * all) return Seconds{seconds};
    return worst;
  };
  f.time_p5 = at(0.05);
  f.time = at(0.5);
  f.time_p95 = at(0.95);
  f.time_worst = worst;
}

MonthForecast forecast_month(const Outlook& outlook, const std::vector<MonthOutcome>& months) {
  const auto n = static_cast<double>(months.size());
  MonthForecast f;
  std::vector<double> useful;
  for (const MonthOutcome& m : months) {
    useful.push_back(m.useful / outlook.model.length);
    f.stops += m.stops / n;
  }
  f.goodput = std::accumulate(useful.begin(), useful.end(), 0.0) / n;
  double squares = 0;
  for (const double u : useful) squares += (u - f.goodput) * (u - f.goodput);
  f.error = n > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
  const RankedSamples ranked(useful);
  f.goodput_p5 = useful[ranked.at(0.05)];
  f.goodput_p95 = useful[ranked.at(0.95)];
  add_losses(months, outlook, f);
  add_steps(months, f);
  return f;
}

MonthForecast sampled_forecast(const Outlook& outlook, const RiskOptions& options) {
  return forecast_month(outlook, sample_months(outlook.model, options));
}

/// Adds to the rows the time that their stops wait for hosts. It depends on all earlier failures, so only months know
/// it.
void add_waits(const std::vector<MonthOutcome>& months, Outlook& outlook) {
  for (const MonthOutcome& m : months)
    for (std::size_t s = 0; s < m.sources.size(); ++s)
      outlook.rows[outlook.row_of_source[s]].hours +=
          m.sources[s].waiting / 3600 / static_cast<double>(months.size()) * nominal_month.value / outlook.model.length;
}

/// A change to try: its description, its `--set` words, and the changed section.
struct RiskTrial {
  std::string what;
  std::vector<std::string> set;
  ReliabilitySpec spec;
};

// Changes of section `reliability` and of NCCL's timeout. Another fabric or routing would need other simulations: that
// is another scenario.
std::vector<RiskTrial> risk_trials(const World& world, const Outlook& outlook) {
  const ReliabilitySpec& now = world.scenario().reliability;
  std::vector<RiskTrial> trials;
  const auto add = [&](bool applies, std::string what, std::vector<std::string> set,
                       const std::function<void(ReliabilitySpec&)>& change) {
    if (!applies) return;
    trials.push_back({std::move(what), std::move(set), now});
    change(trials.back().spec);
  };
  const std::string more = std::to_string(2 * outlook.spares + 1);
  add(world.fabric() && now.planes == 1, "two ports per NIC, at two leaves (dual-ToR)", {"reliability.planes=2"},
      [](ReliabilitySpec& s) { s.planes = 2; });
  add(true, "twice as many spare hosts, plus one", {"reliability.spares=" + more},
      [&](ReliabilitySpec& s) { s.spares = 2 * outlook.spares + 1; });
  add(outlook.model.saves && now.checkpoint.every.value > 0, "the optimal checkpoint interval",
      {"reliability.checkpoint.every=0s"}, [](ReliabilitySpec& s) { s.checkpoint.every = {0}; });
  add(outlook.model.saves && !now.checkpoint.asynchronous, "asynchronous checkpoints",
      {"reliability.checkpoint.asynchronous=true"}, [](ReliabilitySpec& s) { s.checkpoint.asynchronous = true; });
  add(now.restart.detect.value > 60, "hangs detected within a minute", {"reliability.restart.detect=1min"},
      [](ReliabilitySpec& s) { s.restart.detect = {60}; });
  add(now.restart.start.value > 60, "restarts within a minute", {"reliability.restart.start=1min"},
      [](ReliabilitySpec& s) { s.restart.start = {60}; });
  add(now.stragglers.last.value > 3600, "slow hosts found within an hour", {"reliability.stragglers.last=1h"},
      [](ReliabilitySpec& s) { s.stragglers.last = {3600}; });
  add(now.repair.cable.value > 14400, "cables replaced within 4 h", {"reliability.repair.cable=4h"},
      [](ReliabilitySpec& s) { s.repair.cable = {14400}; });
  // Longer timeouts survive longer flaps, but each lost packet stalls longer. The best exponent depends on lengths of
  // flaps, so several are tried. 4.096 us x 2^n is the encoding of InfiniBand's ACK timeout [NCCL-env].
  for (const int exponent : {16, 18, 20, 22})
    add(world.fabric() && std::abs(4.096e-6 * std::exp2(exponent) - outlook.transport.timeout) > 1e-9,
        "retransmission of lost packets after " + to_text(Seconds{rounded(4.096e-6 * std::exp2(exponent), 2)}),
        {env_word("NCCL_IB_TIMEOUT", exponent)}, [&](ReliabilitySpec& s) { s.transport.timeout = exponent; });
  return trials;
}

/// The changes that gain at least a thousandth of the month, the best first. Of several timeouts only the best is
/// listed.
std::vector<RiskWhatIf> what_helps(const Ground& ground, const std::vector<RiskTrial>& trials, const Effects& effects,
                                   const MonthForecast& now, const RiskOptions& options) {
  // A gain within the sampling error is not reported.
  const double least = std::max(0.001, 4 * now.error);
  std::vector<RiskWhatIf> helps;
  const RiskWhatIf* timeout = nullptr;
  std::vector<RiskWhatIf> timeouts;
  for (const RiskTrial& t : trials) {
    const MonthForecast then = sampled_forecast(outlook_of(ground, t.spec, effects, options.month), options);
    if (then.goodput < now.goodput + least) continue;
    const bool is_timeout = t.set.front().starts_with("nccl.");
    (is_timeout ? timeouts : helps).push_back({t.what, t.set, then.goodput});
  }
  for (const RiskWhatIf& t : timeouts)
    if (!timeout || t.goodput > timeout->goodput) timeout = &t;
  if (timeout) helps.push_back(*timeout);
  std::stable_sort(helps.begin(), helps.end(),
                   [](const RiskWhatIf& a, const RiskWhatIf& b) { return a.goodput > b.goodput; });
  return helps;
}

/// Forecasts the healthy job with each sample of the network.
Ground ground_of(const World& world, Trials& trials, const Elements* elements, const RiskOptions& options) {
  Ground ground{world, elements, std::vector<double>(static_cast<std::size_t>(trials.network_samples())), 0, 0};
  std::vector<Timed> timed(ground.healthy.size());
  in_parallel(timed.size(), thread_count(options.run.threads), [&](std::size_t network_sample) {
    timed[network_sample] = *trials.run(static_cast<int>(network_sample), {}, 1);
  });
  for (std::size_t d = 0; d < timed.size(); ++d) ground.healthy[d] = timed[d].seconds;
  // The computing time is that of the median sample; it hardly varies over samples, since ECMP changes communication
  // only.
  ground.median = ground.healthy[RankedSamples(ground.healthy).at(0.5)];
  for (const Timed& t : timed)
    if (t.seconds == ground.median) ground.computing = t.computing;
  return ground;
}

}  // namespace

const RiskClass* Risk::worst_survived() const {
  const RiskClass* worst_class = nullptr;
  for (const RiskClass& c : classes)
    if (!c.stops && c.worst > (worst_class ? worst_class->worst : 1)) worst_class = &c;
  return worst_class;
}

RiskOptions quick_risk() {
  RiskOptions options;
  options.samples = 100;
  options.elements = 2;
  options.what_if = false;
  options.unrated = false;
  options.run.threads = 1;
  return options;
}

Risk assess(const World& world, const RiskOptions& options) {
  // The chunk engine forks, which requires a single thread.
  if (world.scenario().network.engine == EngineKind::chunk && options.run.threads != 1) {
    RiskOptions alone = options;
    alone.run.threads = 1;
    return assess(world, alone);
  }
  Trials trials(world);
  std::optional<Elements> elements;
  if (world.fabric()) elements.emplace(world);
  RiskOptions first = options, rest = options;
  first.run = part_of(options.run, 0, 0.1);
  rest.run = part_of(options.run, 0.1, 0.95);
  const Ground ground = ground_of(world, trials, elements ? &*elements : nullptr, first);
  const ReliabilitySpec& spec = world.scenario().reliability;

  std::vector<EffectKey> wanted = effects_wanted(ground, spec, options.unrated);
  if (options.what_if && elements && spec.planes == 1) {
    // The change to two planes needs effects at other remaining rates.
    ReliabilitySpec two = spec;
    two.planes = 2;
    const std::vector<EffectKey> more = effects_wanted(ground, two, false);
    wanted.insert(wanted.end(), more.begin(), more.end());
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  }
  Effects effects;
  if (elements) effects = find_effects(world, trials, *elements, ground.healthy, wanted, rest);

  Outlook outlook = outlook_of(ground, spec, effects, options.month);
  Risk risk;
  risk.world = world;
  risk.of = trials.what();
  risk.network_samples = trials.network_samples();
  const RankedSamples ranked(ground.healthy);
  const auto time_at = [&](double fraction) { return Seconds{ground.healthy[ranked.at(fraction)]}; };
  risk.time = Seconds{ground.median};
  risk.time_p5 = time_at(0.05);
  risk.time_p95 = time_at(0.95);
  risk.time_worst = time_at(1);
  risk.checkpoint = outlook.checkpoint;
  risk.window = Seconds{outlook.transport.window};
  risk.spares = outlook.spares;
  risk.samples = options.samples;
  risk.seed = options.seed;
  const std::vector<MonthOutcome> months = sample_months(outlook.model, options);
  add_waits(months, outlook);
  risk.month = forecast_month(outlook, months);
  if (options.what_if) risk.helps = what_helps(ground, risk_trials(world, outlook), effects, risk.month, options);
  risk.classes = outlook.rows;
  std::stable_sort(risk.classes.begin(), risk.classes.end(), [](const RiskClass& a, const RiskClass& b) {
    return std::pair(-a.hours, -a.worst) < std::pair(-b.hours, -b.worst);
  });
  if (options.run.progress) options.run.progress(1);
  return risk;
}

}  // namespace fabricast
