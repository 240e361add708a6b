// Samples one month of a job, event by event (month.hpp has the process). Between two events everything is constant, so
// time is advanced in one step whatever its length: a month costs a few operations per event, not per training step.
#include "month.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fabricast {

namespace {

class Month {
 public:
  Month(const MonthModel& model, Rng& rng) : m_(model), rng_(rng) {
    out_.sources.resize(m_.sources.size());
    for (const FailureSource& s : m_.sources) {
      sum_ += s.rate;
      cumulative_.push_back(sum_);
    }
    // The sum of many short stalls over the month is nearly normal. S stalls in progress on average leave the fraction
    // e^-S of time without any.
    const double stalls = m_.stalls + std::sqrt(m_.stalls_variance) * rng_.normal();
    free_ = std::exp(-std::max(0.0, stalls));
    sample_network();
  }

  MonthOutcome run() {
    double failure = next_failure(0);
    while (now_ < m_.length) {
      double next = std::min({m_.length, failure, back_at_});
      for (const Degradation& d : active_) next = std::min(next, d.until);
      pass(next - now_);
      now_ = next;
      std::erase_if(active_, [&](const Degradation& d) { return d.until <= now_; });
      if (now_ >= back_at_) {
        back_at_ = never;
        sample_network();
      }
      if (now_ >= failure) {
        strike();
        failure = next_failure(now_);
      }
    }
    return std::move(out_);
  }

 private:
  struct Degradation {
    double until, slowdown;
    std::size_t source;
  };
  enum class State { running, waiting, restarting };

  // All sources together are one Poisson process, whose intervals are exponential. log1p(-u) is finite, because u is
  // below 1.
  double next_failure(double from) { return sum_ > 0 ? from - std::log1p(-rng_.uniform()) / sum_ : never; }

  void sample_network() { step_ = m_.network_samples[rng_.below(m_.network_samples.size())]; }

  /// Lets time pass, during which no event occurs.
  void pass(double dt) {
    if (back_at_ == never) return work(dt);
    // A stop first waits for hosts, then restarts.
    const double waited = std::clamp(waits_until_ - now_, 0.0, dt);
    out_.sources[stopped_by_].waiting += waited;
    out_.sources[stopped_by_].restart += dt - waited;
  }

  void work(double dt) {
    const auto worst = std::max_element(active_.begin(), active_.end(), [](const Degradation& a, const Degradation& b) {
      return a.slowdown < b.slowdown;
    });
    const double slowdown = worst == active_.end() ? 1 : worst->slowdown;
    // Useful seconds per second of running. Work is measured at the pace of the healthy median, so that slow samples,
    // stalls and degradations all count as lost time.
    const double pace = m_.median / step_ * free_ / slowdown;
    double running = dt;
    if (m_.saves) running = save(dt, pace);
    // What follows divides dt: useful, stalls, slow steps and variation of the network add up to `running`.
    out_.saving += dt - running;
    out_.useful += running * pace;
    out_.stalls += running * (1 - free_);
    if (worst != active_.end()) out_.sources[worst->source].slow += running * free_ * (1 - 1 / slowdown);
    out_.network_samples += running * free_ / slowdown * (1 - m_.median / step_);
    // No step ends while the job stands still.
    if (running > 0 && std::isfinite(slowdown)) out_.steps[step_ * slowdown] += running * free_;
  }

  /// Advances in the cycle of work and saving. \returns the seconds of work
  double save(double dt, double pace) {
    const double cycle = m_.every + m_.pause;
    double running = 0;
    // Whole cycles leave the place in the cycle unchanged and refresh what is saved; only the remainder is walked
    // through.
    if (const double cycles = std::floor(dt / cycle); cycles >= 1) {
      running += cycles * m_.every;
      dt -= cycles * cycle;
      unsaved_ = std::min(place_, m_.every) * pace;
      in_flight_ = m_.every * pace;
    }
    while (dt > 0) {
      const bool works = place_ < m_.every;
      const double part = std::min(dt, (works ? m_.every : cycle) - place_);
      if (works) {
        running += part;
        unsaved_ += part * pace;
      }
      place_ += part;
      dt -= part;
      // Rounding may leave a remainder too small to advance.
      if (part <= 0) place_ = works ? m_.every : cycle;
      if (place_ >= cycle) {
        place_ = 0;
        in_flight_ = unsaved_;
        unsaved_ = 0;
      }
    }
    return running;
  }

  void strike() {
    // The source of the failure, with probability in proportion to its rate.
    const double at = rng_.uniform() * sum_;
    const auto it = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
    const auto index = std::min(static_cast<std::size_t>(it - cumulative_.begin()), m_.sources.size() - 1);
    const FailureSource& source = m_.sources[index];
    if (!source.stops) {
      if (!source.slowdowns.empty())
        active_.push_back({now_ + source.lasts, source.slowdowns[rng_.below(source.slowdowns.size())], index});
      return;
    }
    // A job that waits for hosts has no hosts that could fail.
    if (back_at_ != never && now_ < waits_until_) return;
    ++out_.stops;
    // A failure during a restart begins the restart again, but there is no work to lose.
    if (back_at_ == never && m_.saves) lose(index);
    stopped_by_ = index;
    waits_until_ = now_ + wait_for_hosts(source);
    back_at_ = waits_until_ + source.detect + m_.start;
    // The restarted job begins a new interval of checkpoints.
    place_ = 0;
    unsaved_ = 0;
    in_flight_ = 0;
  }

  // A checkpoint that is not yet durable does not help: the one before is read.
  void lose(std::size_t index) {
    const double lost = unsaved_ + (place_ < m_.durable ? in_flight_ : 0);
    out_.useful -= lost;
    out_.sources[index].redone += lost;
  }

  /// Takes spare hosts, which become available again when the failed hosts are repaired. \returns s until there are
  /// enough
  double wait_for_hosts(const FailureSource& source) {
    if (source.hosts == 0) return 0;
    std::erase_if(away_, [&](const auto& a) { return a.first <= now_; });
    int free = m_.spares;
    for (const auto& [until, hosts] : away_) free -= hosts;
    if (free >= source.hosts) {
      away_.emplace_back(now_ + source.lasts, source.hosts);
      return 0;
    }
    // Wait until enough spares are back or the failed hosts are repaired, whichever is first.
    std::sort(away_.begin(), away_.end());
    for (std::size_t i = 0; i < away_.size(); ++i) {
      free += away_[i].second;
      if (free < source.hosts || away_[i].first >= now_ + source.lasts) continue;
      const double wait = away_[i].first - now_;
      away_.emplace_back(now_ + source.lasts, source.hosts);
      return wait;
    }
    return source.lasts;
  }

  const MonthModel& m_;
  Rng& rng_;
  MonthOutcome out_;
  std::vector<double> cumulative_;
  double sum_ = 0, free_ = 1, step_ = 1, now_ = 0;
  double place_ = 0;      ///< s since the beginning of the cycle of work and saving
  double unsaved_ = 0;    ///< useful s since the last checkpoint
  double in_flight_ = 0;  ///< useful s in a checkpoint that may still be being written
  double back_at_ = never, waits_until_ = 0;
  std::size_t stopped_by_ = 0;
  std::vector<Degradation> active_;
  std::vector<std::pair<double, int>> away_;  ///< hosts in repair: until when, and how many
};

}  // namespace

MonthOutcome sample_month(const MonthModel& model, Rng& rng) { return Month(model, rng).run(); }

}  // namespace fabricast
