// Findings on simulated jobs: is the part named that was made faulty, within an interval, and nothing without a fault?
#include <fmt/format.h>
#include <sys/resource.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <random>

#include "../../../calibrate/watch/collector.hpp"

namespace fabricast {
namespace {

using live::Collector;
using live::CommunicatorFacts;
using live::RankCall;
using live::RasCommunicator;

enum class Fault { none, slow_gpu, slow_host, slow_nic, hang, crash };

/// A training job, simulated event by event, independently of what looks at it. Ranks compute and call collectives on
/// three kinds of communicators: of a host (tensor parallel), and, over the hosts as a grid, of its rows (data parallel)
/// and columns (context parallel).
class SimulatedJob {
 public:
  static constexpr int columns = 3, hosts = 2 * columns, per_host = 8, ranks = hosts * per_host;

  /// \param text  whether RAS says only what its text does
  SimulatedJob(unsigned seed, Fault fault, double at, int rank, double factor, bool text = false)
      : random_(seed), fault_(fault), at_(at), rank_(rank), factor_(factor), text_(text) {
    for (int h = 0; h < hosts; ++h) add_group("tp", h, 1, [h](int r) { return r / per_host == h; });
    for (int l = 0; l < per_host; ++l) {
      for (int column = 0; column < columns; ++column)
        add_group("cp", l * 10 + column, 2,
                  [=](int r) { return r % per_host == l && r / per_host % columns == column; });
      for (int row = 0; row < 2; ++row)
        add_group("dp", l * 10 + row, columns,
                  [=](int r) { return r % per_host == l && r / per_host / columns == row; });
    }
    now_.resize(ranks, 0.0);
  }

  static std::string place(int rank) { return fmt::format("node{}, process {}", rank / per_host, 100 + rank); }

  /// Runs until all ranks have passed `until` seconds or wait for ever, and reports what was written by then.
  void run(double until, Collector& to) {
    while (*std::min_element(now_.begin(), now_.end()) < until && !stopped_) step();
    for (; reported_ < records_.size() && records_[reported_].second <= until; ++reported_) {
      const auto& [call, finish] = records_[reported_];
      const Group& g = groups_[static_cast<std::size_t>(call.communicator)];
      RankCall record = call;
      record.communicator = to.communicator({g.name, {}, static_cast<int>(g.members.size()), g.nodes, false});
      to.place(record.communicator, record.rank, place(g.members[static_cast<std::size_t>(record.rank)]));
      to.add(record);
    }
    for (const Group& g : groups_) {
      RasCommunicator status;
      status.id = g.name;
      status.size = static_cast<int>(g.members.size());
      for (std::size_t i = 0; i < g.members.size(); ++i) {
        if (fault_ == Fault::crash && g.members[i] == rank_ && until > at_) {
          status.missing.push_back({static_cast<int>(i), place(g.members[i]), "gone"});
          continue;
        }
        std::int64_t launched = 0;
        for (const double start : g.launches[i]) launched += start <= until ? 1 : 0;
        status.ranks.push_back({static_cast<int>(i), place(g.members[i]), {{"AllReduce", launched}}, {}});
      }
      if (text_) {
        as_text(status);
        if (status.ranks.empty() && status.unnamed_counts.empty() && status.missing.empty()) continue;
      }
      to.add(status);
    }
  }

 private:
  /// What RAS's text says of a status (rasCountIsOutlier): counts that differ, and of the ranks with one of them those that
  /// are one, or at most ten and a quarter of all.
  static void as_text(RasCommunicator& status) {
    std::map<std::int64_t, int> groups;
    for (const live::RasRank& r : status.ranks) ++groups[r.counts.at("AllReduce")];
    if (groups.size() == 1) groups.clear();
    std::vector<live::RasRank> named;
    for (const live::RasRank& r : status.ranks) {
      const auto group = groups.find(r.counts.at("AllReduce"));
      if (group == groups.end()) continue;
      if (group->second == 1 || (group->second <= 10 && group->second * 4 <= status.size))
        named.push_back(r);
      else
        status.unnamed_counts["AllReduce"] = std::max(status.unnamed_counts["AllReduce"], group->first);
    }
    status.ranks = std::move(named);
  }

  struct Group {
    std::string name;
    int nodes = 1;
    std::vector<int> members;
    std::int64_t calls = 0;
    std::vector<std::vector<double>> launches;  ///< times, by member
  };

  template <class In>
  void add_group(const char* kind, int number, int nodes, In in) {
    Group g;
    g.name = fmt::format("{}{}", kind, number);
    g.nodes = nodes;
    for (int r = 0; r < ranks; ++r)
      if (in(r)) g.members.push_back(r);
    g.launches.resize(g.members.size());
    groups_.push_back(std::move(g));
  }

  double noise(double deviation) { return std::exp(std::normal_distribution<>(0, deviation)(random_)); }

  bool slow(int r) const {
    if (now_[static_cast<std::size_t>(r)] < at_) return false;
    return (fault_ == Fault::slow_gpu && r == rank_) ||
           (fault_ == Fault::slow_host && r / per_host == rank_ / per_host);
  }
  bool gone(int r) const {
    return (fault_ == Fault::hang || fault_ == Fault::crash) && r == rank_ && now_[static_cast<std::size_t>(r)] >= at_;
  }

  void compute(double seconds) {
    for (int r = 0; r < ranks; ++r)
      now_[static_cast<std::size_t>(r)] += seconds * noise(0.02) * (slow(r) ? factor_ : 1);
  }

  void call(Group& g, std::size_t number, double seconds, std::int64_t bytes) {
    double last = 0;
    bool all = true;
    for (std::size_t i = 0; i < g.members.size(); ++i) {
      const int r = g.members[i];
      // Who waits for ever launches nothing more.
      if (gone(r) || blocked_[static_cast<std::size_t>(r)]) {
        all = false;
        continue;
      }
      g.launches[i].push_back(now_[static_cast<std::size_t>(r)]);
      last = std::max(last, now_[static_cast<std::size_t>(r)]);
    }
    if (!all) {
      for (const int r : g.members)
        if (!gone(r)) blocked_[static_cast<std::size_t>(r)] = true;
      stopped_ = true;
      for (int r = 0; r < ranks; ++r) stopped_ = stopped_ && (gone(r) || blocked_[static_cast<std::size_t>(r)]);
      return;
    }
    const bool nic = fault_ == Fault::slow_nic && g.nodes > 1 && last >= at_ &&
                     std::find(g.members.begin(), g.members.end(), rank_) != g.members.end();
    const double takes = seconds * noise(0.04) * (nic ? factor_ : 1);
    for (std::size_t i = 0; i < g.members.size(); ++i) {
      double& now = now_[static_cast<std::size_t>(g.members[i])];
      RankCall c;
      c.communicator = static_cast<int>(number);
      c.rank = static_cast<int>(i);
      c.bytes = bytes;
      c.sequence = g.calls;
      c.time_us = std::max(1.0, std::round((last + takes - now) * 1e6));
      records_.emplace_back(c, last + takes);
      now = last + takes;
    }
    ++g.calls;
  }

  void step() {
    const auto every = [&](std::string_view kind, double seconds, std::int64_t bytes) {
      for (std::size_t i = 0; i < groups_.size(); ++i)
        if (groups_[i].name.starts_with(kind)) call(groups_[i], i, seconds, bytes);
    };
    const std::size_t before = records_.size();
    for (int layer = 0; layer < 3; ++layer) {
      compute(0.2);
      every("tp", 0.002, 1 << 26);
      every("cp", 0.010, 1 << 27);
    }
    compute(0.3);
    every("dp", 0.050, 1 << 30);
    // Files are written as calls end.
    std::stable_sort(records_.begin() + static_cast<std::ptrdiff_t>(std::max(reported_, std::size_t{0})),
                     records_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (records_.size() == before) stopped_ = true;
  }

  std::mt19937 random_;
  Fault fault_;
  double at_;
  int rank_;
  double factor_;
  bool text_;
  std::vector<Group> groups_;
  std::vector<double> now_;
  std::array<bool, ranks> blocked_{};
  std::vector<std::pair<RankCall, double>> records_;
  std::size_t reported_ = 0;
  bool stopped_ = false;
};

constexpr double interval_s = 20, half_s = interval_s / 2;

std::vector<JobFinding> finish_half(Collector& collector) {
  std::vector<JobFinding> found = findings(collector.interval());
  collector.end_half();
  return found;
}

bool names(const std::vector<JobFinding>& found, Fault fault, int rank) {
  const std::string place = SimulatedJob::place(rank);
  const std::string host = fmt::format("node{}", rank / SimulatedJob::per_host);
  const auto kind = [&](const JobFinding& f) {
    switch (fault) {
      case Fault::slow_gpu:
      case Fault::slow_host: return f.kind == "late";
      case Fault::slow_nic: return f.kind == "slow";
      case Fault::hang: return f.kind == "hang";
      case Fault::crash: return f.kind == "missing";
      case Fault::none: break;
    }
    return false;
  };
  // All that is named of this kind must be the part.
  bool any = false;
  for (const JobFinding& f : found) {
    if (!kind(f)) continue;
    const bool right =
        fault == Fault::slow_host ? f.part == "host" && f.place == host : f.part == "rank" && f.place == place;
    if (!right) return false;
    any = true;
  }
  return any;
}

/// Whether the part is named in a report that is no more than an interval after the fault.
struct Outcome {
  bool named = false, wrong = false;  ///< something else before it
  bool before = false;                ///< anything before the fault
};
Outcome outcome_of(SimulatedJob& job, Fault fault, double at, int rank) {
  Collector collector;
  Outcome outcome;
  for (int i = 1; half_s * i <= at + interval_s; ++i) {
    job.run(half_s * i, collector);
    const std::vector<JobFinding> found = finish_half(collector);
    if (half_s * i <= at)
      outcome.before = outcome.before || !found.empty();
    else if (names(found, fault, rank))
      outcome.named = true;
    else if (!outcome.named && !found.empty())
      outcome.wrong = true;
  }
  return outcome;
}

TEST_CASE("of a thousand faults the right part is named within an interval", "[watch]") {
  std::mt19937 random(2026);
  std::map<Fault, std::pair<int, int>> right;  // and all
  const std::array faults = {Fault::slow_gpu, Fault::slow_host, Fault::slow_nic, Fault::hang, Fault::crash};
  int wrong = 0;
  for (int n = 0; n < 1000; ++n) {
    const Fault fault = faults[static_cast<std::size_t>(n) % faults.size()];
    const int rank = std::uniform_int_distribution<>(0, SimulatedJob::ranks - 1)(random);
    // Any time of the fourth interval.
    const double at = interval_s * (3 + std::uniform_real_distribution<>(0, 1)(random));
    const double factor = fault == Fault::slow_nic ? std::uniform_real_distribution<>(1.4, 4)(random)
                                                   : std::uniform_real_distribution<>(1.15, 2)(random);
    SimulatedJob job(static_cast<unsigned>(n), fault, at, rank, factor);
    const Outcome outcome = outcome_of(job, fault, at, rank);
    CHECK_FALSE(outcome.before);
    wrong += outcome.wrong ? 1 : 0;
    ++right[fault].second;
    right[fault].first += outcome.named ? 1 : 0;
  }
  int all = 0;
  std::string each;
  for (const auto& [fault, count] : right) {
    INFO("fault " << static_cast<int>(fault) << ": " << count.first << " of " << count.second);
    CHECK(count.first * 10 >= count.second * 9);
    all += count.first;
    each += fmt::format(" {}/{}", count.first, count.second);
  }
  WARN(all << " of 1000 named, by kind" << each << "; " << wrong << " with something else first");
  CHECK(all >= 900);
}

TEST_CASE("a hang is named from RAS's text, which names few ranks", "[watch]") {
  std::mt19937 random(7);
  int named = 0;
  for (int n = 0; n < 100; ++n) {
    const int rank = std::uniform_int_distribution<>(0, SimulatedJob::ranks - 1)(random);
    const double at = interval_s * (3 + std::uniform_real_distribution<>(0, 1)(random));
    const Fault fault = n % 2 == 0 ? Fault::hang : Fault::crash;
    SimulatedJob job(static_cast<unsigned>(9000 + n), fault, at, rank, 1, true);
    const Outcome outcome = outcome_of(job, fault, at, rank);
    CHECK_FALSE(outcome.before);
    named += outcome.named ? 1 : 0;
  }
  WARN(named << " of 100 named");
  CHECK(named >= 90);
}

TEST_CASE("a job without a fault gives no alarm", "[watch]") {
  // 10 hours in intervals of 20 s; the nightly suite watches 200.
  const char* nightly = std::getenv("FABRICAST_WATCH_HOURS");
  const int hours = nightly ? std::atoi(nightly) : 10;
  int alarms = 0;
  for (int job_number = 0; job_number < hours; ++job_number) {
    SimulatedJob job(static_cast<unsigned>(5000 + job_number), Fault::none, 1e18, 0, 1);
    Collector collector;
    for (int i = 1; i <= 360; ++i) {
      job.run(half_s * i, collector);
      alarms += finish_half(collector).empty() ? 0 : 1;
    }
  }
  WARN(alarms << " alarms in " << hours << " hours");
  CHECK(alarms * 100 <= hours);
}

TEST_CASE("ten thousand communicators of 512 ranks take 200 MB", "[.memory]") {
  Collector collector;
  constexpr int communicators = 10'000, ranks = 512;
  // Places are those of 512 processes. Rank by rank, as files of processes are read: all calls are open at once.
  std::vector<int> numbers;
  for (int c = 0; c < communicators; ++c)
    numbers.push_back(collector.communicator({fmt::format("0x{:x}", c), {}, ranks, 64, false}));
  for (int r = 0; r < ranks; ++r) {
    const std::string place = fmt::format("node{}, process {}", r / 8, r);
    for (const int c : numbers) {
      collector.place(c, r, place);
      RankCall call;
      call.communicator = c;
      call.rank = r;
      call.bytes = 1 << 20;
      call.time_us = 1000 + r;
      collector.add(call);
    }
  }
  CHECK(collector.counts().calls == communicators);
  CHECK(collector.counts().parts == 0);
  collector.end_half();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef FABRICAST_TEST_SPEED
  CHECK(usage.ru_maxrss < 200'000);
#endif
}

}  // namespace
}  // namespace fabricast
