#include "fabricast/calibrate/check.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fabricast {

namespace {

/// A symptom whose largest effect on any size is smaller than this would not be seen.
constexpr double least_effect = 0.02;

/// s by measurement and row.
using Times = std::vector<std::vector<double>>;

double at_quantile(const ForecastRow& row, double quantile) {
  return quantile >= 1 ? row.time_worst : quantile > 0.5 ? row.time_p95 : row.time;
}

class Examination {
 public:
  Examination(const Scenario& scenario, const std::vector<MeasuredCollective>& measured, const SiteModel& model,
              const std::map<Cause, double>& weights, const RunOptions& options)
      : scenario_(scenario),
        measured_(measured),
        model_(model),
        weights_(weights),
        options_(options),
        effective_(to_yaml(scenario)) {
    for (const MeasuredCollective& m : measured_) {
      sizes_.emplace_back();
      for (const MeasuredRow& row : m.rows) sizes_.back().push_back(row.bytes);
    }
  }

  CheckReport operator()() {
    std::vector<std::vector<Symptom>> symptoms;
    const auto first = world_of({}, 0);
    double count = 1, done = 1;
    for (const CauseKind& kind : cause_kinds())
      symptoms.push_back(kind.symptoms(*first)), count += static_cast<double>(symptoms.back().size());
    expected_ = times_of({}, part_of(options_, 0, 1 / count));
    for (std::size_t k = 0; k < symptoms.size(); ++k) {
      std::vector<Tried> tried;
      for (Symptom& symptom : symptoms[k]) {
        if (auto one = try_one(std::move(symptom), cause_kinds()[k].spread,
                               part_of(options_, done / count, (done + 1) / count)))
          tried.push_back(std::move(*one));
        ++done;
      }
      judge(cause_kinds()[k], tried, symptoms[k].empty());
    }
    finish(static_cast<int>(first->planner.comm.ranks()));
    cite();
    if (options_.progress) options_.progress(1);
    return std::move(report_);
  }

 private:
  struct Tried {
    Symptom symptom;
    double log_likelihood = 0, off = 0, effect = 0;
  };

  struct Judged {
    double log_posterior = 0;
    Suspect suspect;
  };

  std::unique_ptr<World> world_of(std::vector<std::string> set, std::size_t m) const {
    set.insert(set.end(), measured_[m].set.begin(), measured_[m].set.end());
    set.push_back(std::string("workload.collective=") + std::string(name_of(measured_[m].op)));
    Scenario made = changed(scenario_, effective_, set);
    set_sizes(made, sizes_[m]);
    return build_world(std::move(made));
  }

  Times times_of(const Symptom& symptom, const RunOptions& options) const {
    Times times(measured_.size());
    for (std::size_t m = 0; m < measured_.size(); ++m)
      for (const ForecastRow& row : run_forecast(*world_of(symptom.set, m), options).rows)
        times[m].push_back(at_quantile(row, symptom.quantile));
    return times;
  }

  /// \returns nothing where the scenario can not be so
  std::optional<Tried> try_one(Symptom symptom, double spread, const RunOptions& options) const {
    Times times;
    try {
      times = times_of(symptom, options);
    } catch (const UserError&) { return std::nullopt; }
    Tried tried{std::move(symptom), 0, 0, 0};
    std::size_t rows = 0;
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < times[m].size(); ++i) {
        ratios.push_back(std::log(measured_[m].rows[i].time_us * 1e-6 / times[m][i]));
        tried.off += ratios.back(), ++rows;
        tried.effect = std::max(tried.effect, std::abs(std::log(times[m][i] / expected_[m][i])));
      }
      tried.log_likelihood += log_density(model_, sizes_[m], ratios, spread);
    }
    tried.off = std::exp(tried.off / static_cast<double>(rows));
    return tried;
  }

  /// A cause is as likely as its symptoms are on average: those that may show in many ways are not the better for it.
  void judge(const CauseKind& kind, const std::vector<Tried>& tried, bool impossible) {
    if (impossible || tried.empty()) return;
    const auto weaker = [](const Tried& a, const Tried& b) { return a.log_likelihood < b.log_likelihood; };
    const Tried& best = *std::max_element(tried.begin(), tried.end(), weaker);
    const auto shows = [](const Tried& t) { return t.effect >= least_effect; };
    if (kind.cause != Cause::healthy && std::none_of(tried.begin(), tried.end(), shows)) {
      report_.unseen.push_back(kind.cause);
      return;
    }
    double sum = 0;
    for (const Tried& t : tried) sum += std::exp(t.log_likelihood - best.log_likelihood);
    const double log_likelihood = best.log_likelihood + std::log(sum / static_cast<double>(tried.size()));
    const double log_posterior = std::log(kind.prior * weight(kind.cause)) + log_likelihood;
    judged_.push_back({log_posterior, {kind.cause, 0, best.symptom, best.off}});
  }

  double weight(Cause cause) const {
    const auto it = weights_.find(cause);
    return it == weights_.end() ? 1 : it->second;
  }

  void finish(int ranks) {
    std::stable_sort(judged_.begin(), judged_.end(),
                     [](const Judged& a, const Judged& b) { return a.log_posterior > b.log_posterior; });
    double sum = 0;
    for (Judged& j : judged_) sum += j.suspect.probability = std::exp(j.log_posterior - judged_.front().log_posterior);
    for (Judged& j : judged_) {
      j.suspect.probability /= sum;
      report_.suspects.push_back(std::move(j.suspect));
    }
    double off = 0;
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      const double factor = bus_factor(measured_[m].op, ranks);
      for (std::size_t i = 0; i < sizes_[m].size(); ++i) {
        const double seconds = measured_[m].rows[i].time_us * 1e-6, forecast = expected_[m][i];
        // Nine of ten healthy rows lie within.
        const double width = std::exp(quantile_95 * spread_at(model_, sizes_[m][i]));
        CheckedRow row{measured_[m].op,
                       sizes_[m][i],
                       seconds,
                       forecast,
                       forecast / width,
                       forecast * width,
                       static_cast<double>(sizes_[m][i]) / seconds * factor,
                       Verdict::expected};
        if (seconds > row.high) row.verdict = Verdict::slow;
        if (seconds < row.low) row.verdict = Verdict::fast;
        report_.rows.push_back(row), off += std::log(seconds / forecast);
      }
    }
    report_.off = std::exp(off / static_cast<double>(report_.rows.size()));
  }

  /// What NCCL's release notes and issues say of the calls that are slow.
  void cite() {
    if (report_.healthy()) return;
    auto row = report_.rows.begin();
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      const auto world = world_of({}, m);
      for (const std::int64_t bytes : sizes_[m]) {
        if (row++->verdict != Verdict::slow) continue;
        for (const Regression* known : regressions_of(world->planner, plan_workload(*world, bytes)))
          if (std::find(report_.known.begin(), report_.known.end(), known) == report_.known.end())
            report_.known.push_back(known);
      }
    }
  }

  const Scenario& scenario_;
  const std::vector<MeasuredCollective>& measured_;
  const SiteModel& model_;
  const std::map<Cause, double>& weights_;
  const RunOptions& options_;
  std::string effective_;
  std::vector<std::vector<std::int64_t>> sizes_;
  Times expected_;
  std::vector<Judged> judged_;
  CheckReport report_;
};

}  // namespace

bool CheckReport::healthy() const {
  const auto slow = [](const CheckedRow& row) { return row.verdict == Verdict::slow; };
  if (!wrong.empty()) return false;
  return suspects.front().cause == Cause::healthy || std::none_of(rows.begin(), rows.end(), slow);
}

CheckReport check(const Scenario& scenario, const std::vector<MeasuredCollective>& measured, const SiteModel& model,
                  const std::map<Cause, double>& weights, const RunOptions& options) {
  return Examination(scenario, measured, model, weights, options)();
}

}  // namespace fabricast
