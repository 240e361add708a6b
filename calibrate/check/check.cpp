// `check`: forecasts the cluster as it should be and every symptom, and lets Judge compare them with the measured
// times.
//
// The steps are: forecast every series as it should be, with the properties that the distribution of errors depends on;
// forecast every symptom of every cause; leave out causes that would not show; try the likeliest two at a time; apply
// Bayes' rule (judge.hpp); and compare runs on different hosts (places.hpp). Symptoms are independent of each other, so
// they run in parallel, and NCCL's graph searches are shared between them.
#include "fabricast/calibrate/check.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "fabricast/core/parallel.hpp"
#include "fabricast/hardware/size_bands.hpp"
#include "fabricast/report/residual_rows.hpp"
#include "fabricast/report/unstated.hpp"
#include "judge.hpp"
#include "likelihood.hpp"
#include "places.hpp"

namespace fabricast {

namespace {

/// A symptom that changes no size by this much, as a logarithm, cannot be distinguished from `healthy`.
constexpr double least_effect = 0.02;
constexpr double usual = 0.5;  ///< the quantile of the median over samples of the hash

// A launch keeps its hash outcome for all sizes, so an unlucky launch is compared with the slow end of the samples and
// not with their median.
Seconds at_quantile(const ForecastRow& row, double quantile) {
  return quantile >= 1 ? row.time_worst : quantile > 0.5 ? row.time_p95 : row.time;
}

class Examination {
 public:
  Examination(const std::vector<MeasuredSeries>& measured, const MeasuredSite& site,
              const std::map<Cause, double>& weights, const RunOptions& options)
      : measured_(measured), site_(site), weights_(weights), options_(options) {
    for (const MeasuredSeries& m : measured_) changes_.emplace_back(m.scenario);
  }

  CheckReport operator()() {
    // Symptoms are listed for the cluster of the first series and applied to all: one diagnosis must explain every
    // series.
    const auto first = world_of({}, 0);
    expect();
    const SiteLikelihood likelihood(shipped_residuals(), site_.residuals.measured(), site_.residuals.logs());
    std::vector<Tried> tried = try_all(symptoms_of(first));
    judge(tried, likelihood);
    finish();
    cite();
    if (options_.progress) options_.progress(1);
    return std::move(report_);
  }

 private:
  /// A symptom to simulate, and its forecasts.
  struct Task {
    std::vector<Cause> causes;
    Symptom symptom;
    std::vector<ResidualRow> rows;  ///< with the forecast times; empty: the changed scenario is invalid
  };

  World world_of(const std::vector<std::string>& set, std::size_t m) const {
    if (set.empty()) return build_world(measured_[m].scenario);
    return build_world(changes_[m].with(set));
  }

  /// Forecasts the cluster as it should be, with the properties that the distribution of errors depends on.
  void expect() {
    std::vector<std::vector<ResidualRow>> rows(measured_.size());
    std::vector<std::vector<Seconds>> times(measured_.size());
    std::vector<std::vector<std::pair<Seconds, Seconds>>> samples(measured_.size());
    in_parallel(measured_.size(), thread_count(options_.threads), [&](std::size_t m) {
      const World world = world_of({}, m).with_times_only();
      Forecast forecast = run_forecast(world, one_thread);
      // Settings that the scenario does not state, such as NCCL's version, widen the distribution and thus soften the
      // verdict.
      add_unstated(forecast, one_thread);
      rows[m] = residual_rows(forecast, one_thread);
      for (const ForecastRow& row : forecast.rows) {
        times[m].push_back(row.time);
        samples[m].emplace_back(row.time_p5, row.time_p95);
      }
    });
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      for (ResidualRow& row : rows[m]) rows_.push_back(std::move(row));
      expected_.insert(expected_.end(), times[m].begin(), times[m].end());
      samples_.insert(samples_.end(), samples[m].begin(), samples[m].end());
      times_.insert(times_.end(), measured_[m].times.begin(), measured_[m].times.end());
    }
  }

  std::vector<Task> symptoms_of(const World& world) const {
    std::vector<Task> tasks;
    for (const CauseKind& kind : cause_kinds())
      for (Symptom& symptom : kind.symptoms(world)) tasks.push_back({{kind.cause}, std::move(symptom), {}});
    return tasks;
  }

  /// Rows as forecast with a symptom. Derivatives stay those of the cluster as it should be: computing them anew would
  /// take most of the time and change little.
  std::vector<ResidualRow> rows_of(const Symptom& symptom) const {
    std::vector<ResidualRow> rows = rows_;
    std::size_t at = 0;
    // A change may be invalid together with other keys of the scenario. The symptom is left out then.
    try {
      for (std::size_t m = 0; m < measured_.size(); ++m) {
        const World world = world_of(symptom.set, m).with_times_only();
        const ResidualKind kind = residual_kind(world);
        for (const ForecastRow& from : run_forecast(world, one_thread).rows) {
          ResidualRow& row = rows[at++];
          // A symptom may move the system to another kind, for example from one NVLink domain to several nodes over
          // InfiniBand, whose forecasts have other errors.
          row.kind = kind;
          row.algorithm = from.algorithm;
          row.protocol = from.protocol;
          row.forecast = at_quantile(from, symptom.quantile);
        }
      }
    } catch (const UserError&) { rows.clear(); }
    return rows;
  }

  /// Simulates all tasks, and leaves out those whose scenario is invalid.
  std::vector<Tried> try_all(std::vector<Task> tasks) const {
    TaskProgress progress(options_.progress, tasks.size());
    in_parallel(tasks.size(), thread_count(options_.threads), [&](std::size_t t) {
      // `healthy`, and damaged data at full speed, are the forecast that exists already.
      tasks[t].rows =
          tasks[t].symptom.set.empty() && tasks[t].symptom.quantile == usual ? rows_ : rows_of(tasks[t].symptom);
      progress.one_done();
    });
    std::vector<Tried> list;
    for (Task& task : tasks) {
      if (task.rows.empty()) continue;
      Tried tried{task.causes, std::move(task.symptom), std::move(task.rows), {}, 0, 0};
      for (std::size_t i = 0; i < tried.rows.size(); ++i) {
        const Seconds time = tried.rows[i].forecast;
        // What is left to explain, given the symptom.
        tried.logs.push_back(std::log(times_[i] / time));
        tried.off += tried.logs.back() / static_cast<double>(tried.rows.size());
        tried.effect = std::max(tried.effect, std::abs(std::log(time / expected_[i])));
      }
      list.push_back(std::move(tried));
    }
    return list;
  }

  /// Removes causes without a visible effect, adds pairs of the likeliest others, and applies Bayes' rule.
  void judge(std::vector<Tried>& tried, const SiteLikelihood& likelihood) {
    const auto shows = [](const Tried& t) { return t.effect >= least_effect; };
    for (const CauseKind& kind : cause_kinds()) {
      const auto of_kind = [&](const Tried& t) { return t.causes.front() == kind.cause; };
      const bool there = std::any_of(tried.begin(), tried.end(), of_kind);
      const auto seen = [&](const Tried& t) { return of_kind(t) && shows(t); };
      // A cause without effect on any measured size has the likelihood of `healthy` and would rank by its prior alone.
      // It is reported as one that these rows cannot show.
      if (kind.cause == Cause::healthy || !there || std::any_of(tried.begin(), tried.end(), seen)) continue;
      report_.unseen.push_back(kind.cause);
      std::erase_if(tried, of_kind);
    }
    Judge judge(likelihood, weights_);
    std::vector<Task> pairs;
    for (const auto& [a, b] : judge.worth_pairing(tried)) {
      Task pair{{tried[a].causes.front(), tried[b].causes.front()}, tried[a].symptom, {}};
      pair.symptom.what += ", and " + tried[b].symptom.what;
      pair.symptom.set.insert(pair.symptom.set.end(), tried[b].symptom.set.begin(), tried[b].symptom.set.end());
      // If one of the two is an unlucky hash, it remains unlucky beside the other.
      pair.symptom.quantile = std::max(tried[a].symptom.quantile, tried[b].symptom.quantile);
      pairs.push_back(std::move(pair));
    }
    // A copy, because `tried` grows while pairs are compared with single causes.
    const std::vector<Tried> alone = tried;
    for (Tried& pair : try_all(std::move(pairs)))
      if (adds_to_each(pair, alone)) tried.push_back(std::move(pair));
    report_.suspects = judge.suspects(tried);
  }

  /// Whether two causes at once differ from either alone. With sockets, for example, there is no GPUDirect RDMA to
  /// lose.
  static bool adds_to_each(const Tried& pair, const std::vector<Tried>& alone) {
    return std::none_of(alone.begin(), alone.end(), [&](const Tried& one) {
      if (std::find(pair.causes.begin(), pair.causes.end(), one.causes.front()) == pair.causes.end()) return false;
      double most = 0;
      for (std::size_t i = 0; i < pair.logs.size(); ++i) most = std::max(most, std::abs(pair.logs[i] - one.logs[i]));
      return most < least_effect;
    });
  }

  /// Verdicts of single rows.
  void finish() {
    std::size_t at = 0;
    double off = 0;
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      const Scenario& scenario = measured_[m].scenario;
      const CollectiveOp op = scenario.workload.collective;
      const double factor = bus_factor(op, std::int64_t{scenario.cluster.nodes} * scenario.node.spec.gpus);
      for (const std::int64_t bytes : scenario.sizes()) {
        // The median of healthy sites given the rows that this site measured before, not the simulated time. Without
        // such rows the median correction is zero.
        const Residual residual = site_.residuals.of(rows_[at]);
        const double shift = std::exp(residual.median);
        const Seconds forecast = expected_[at] * shift;
        const double width = std::exp(residual.half_width());
        CheckedRow row{op,
                       bytes,
                       scenario.cluster.nodes,
                       times_[at],
                       forecast,
                       forecast / width,
                       forecast * width,
                       Bytes{bytes} / times_[at] * factor,
                       Verdict::expected,
                       samples_[at].first * shift,
                       samples_[at].second * shift};
        if (row.measured > row.high) row.verdict = Verdict::slow;
        if (row.measured < row.low) row.verdict = Verdict::fast;
        off += std::log(row.measured / row.forecast);
        report_.rows.push_back(row);
        ++at;
      }
    }
    report_.off = std::exp(off / static_cast<double>(report_.rows.size()));
    report_.slowest = slowest_band(report_.rows);
  }

  /// A mean over all sizes hides that large messages take twice as long, beside many small ones that do not.
  static std::optional<BandRatio> slowest_band(const std::vector<CheckedRow>& rows) {
    std::map<std::pair<CollectiveOp, std::size_t>, std::vector<double>> logs;
    for (const CheckedRow& row : rows)
      logs[{row.op, band_of(row.bytes)}].push_back(std::log(row.measured / row.forecast));
    if (logs.size() < 2) return std::nullopt;
    std::optional<BandRatio> slowest;
    for (const auto& [key, values] : logs) {
      double sum = 0;
      for (const double value : values) sum += value;
      const double off = std::exp(sum / static_cast<double>(values.size()));
      if (!slowest || off > slowest->off) slowest = BandRatio{key.first, key.second, off};
    }
    return slowest;
  }

  /// Known regressions that match calls of slow rows.
  void cite() {
    // A regression that matches a call of normal speed explains nothing.
    if (report_.healthy()) return;
    auto row = report_.rows.begin();
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      const auto world = world_of({}, m);
      for (const std::int64_t bytes : measured_[m].scenario.sizes()) {
        if (row++->verdict != Verdict::slow) continue;
        for (const Regression* known : regressions_of(world.planner(), plan_workload(world, bytes)))
          if (std::find(report_.known.begin(), report_.known.end(), known) == report_.known.end())
            report_.known.push_back(known);
      }
    }
  }

  const std::vector<MeasuredSeries>& measured_;
  const MeasuredSite& site_;
  const std::map<Cause, double>& weights_;
  const RunOptions& options_;
  std::vector<ScenarioChanges> changes_;  ///< by series
  // By row, one series after the other.
  std::vector<ResidualRow> rows_;
  std::vector<Seconds> expected_, times_;
  std::vector<std::pair<Seconds, Seconds>> samples_;  ///< 5 % and 95 % of the samples of the hash
  CheckReport report_;
};

}  // namespace

bool CheckReport::healthy() const {
  if (!wrong.empty() || !places.empty() || any_at_fault(behind)) return false;
  return suspects.empty() || suspects.front().cause == Cause::healthy;
}

const Suspect* CheckReport::named() const {
  // Of real logs, first causes below about one half were hardly ever right (docs/models/check.md). Causes that times
  // can hardly tell apart have nearly the same probability, so a lead of three to one is not one of theirs.
  constexpr double half = 0.5;
  const Suspect* first = nullptr;
  double rival = 0;
  for (const Suspect& s : suspects) {
    if (s.cause == Cause::healthy) continue;
    if (!first) {
      first = &s;
      continue;
    }
    const bool includes_first = !first->with && s.with && (s.cause == first->cause || *s.with == first->cause);
    if (!includes_first) rival = std::max(rival, s.probability);
  }
  const bool clear = first && (first->probability >= half || first->probability >= clear_lead * rival);
  return clear ? first : nullptr;
}

bool CheckReport::within_samples() const {
  bool any = false;
  for (const CheckedRow& row : rows) {
    if (row.verdict != Verdict::slow) continue;
    any = true;
    if (!(row.sample_low < row.sample_high) || row.measured > row.sample_high) return false;
  }
  return any;
}

CheckReport check(const std::vector<MeasuredSeries>& measured, const MeasuredSite& site,
                  const std::map<Cause, double>& weights, const RunOptions& options) {
  const std::vector<SeriesGroup> groups = grouped(measured);
  std::vector<MeasuredSeries> middles;
  // The median over runs is judged for health, so one slow host among many runs does not make the cluster unhealthy. It
  // shows as a slow place.
  for (const SeriesGroup& group : groups) middles.push_back(group.middle);
  CheckReport report = Examination(middles, site, weights, options)();
  report.places = places_of(measured, groups);
  return report;
}

}  // namespace fabricast
