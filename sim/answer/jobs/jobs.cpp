// Forecasts each job alone, with all others and in pairs, and the scenario's job in other places.
//
// docs/models/jobs.md has the model. Order of work: every job alone, which gives its traffic; each job with the traffic
// of all others; each pair; the links on which they meet; the main job on other hosts, and with flows in a class of
// their own. All later steps use the traffic of jobs alone, because the rule by which links are shared accounts for
// their slowdown.
#include "fabricast/jobs/jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/scenario/traffic_classes.hpp"
#include "fabricast/traffic/beside.hpp"

namespace fabricast {

namespace {

/// Samples over which pairs and placements are compared: few, because there are many forecasts, but enough for a
/// median.
constexpr int few_samples = 4;
/// Flows that slow the main job by less are not tried in a class of their own, and a smaller gain is not shown.
constexpr double least_slowdown = 0.01;
// Links that are kept, the most loaded ones. The counts of the result are of all shared links.
constexpr std::size_t most_links = 20;

using BySample = std::vector<Background>;

/// One job.
struct Runner {
  World world;
  std::int64_t size = 0;
  double duty = 1;
};

/// Whether two owners use a common link in any sample. Uses are sorted by resource.
/// Owners without a common link cannot slow each other, which saves most of the pairs of a large fabric.
bool meet(const BySample& a, const BySample& b) {
  for (std::size_t d = 0; d < a.size(); ++d) {
    const auto &x = a[d].uses, &y = b[d].uses;
    for (auto i = x.begin(), j = y.begin(); i != x.end() && j != y.end();) {
      if (i->resource == j->resource) return true;
      i->resource < j->resource ? ++i : ++j;
    }
  }
  return false;
}

std::string what_of(const Scenario& s, std::int64_t size) {
  if (s.workload.kind == WorkloadKind::collective)
    return fmt::format("{} {}", name_of(s.workload.collective), to_text(Bytes{size}));
  return std::string(name_of(s.workload.kind));
}

std::string what_of(const BackgroundSpec& flows) {
  const std::string rate =
      flows.rate.value > 0 ? fmt::format("{} per host", to_text(flows.rate)) : to_text(flows.total);
  return fmt::format("{} {}{}", name_of(flows.kind), rate,
                     flows.network == FlowNetwork::own ? ", own network" : std::string());
}

// Owners are numbered: the main job, other jobs, flows.
class Comparison {
 public:
  Comparison(const World& main, std::int64_t size, const RunOptions& options)
      : main_(main), options_(options), jobs_(other_jobs(main)), at_(locality_of(*main.fabric())) {
    single_.threads = 1;
    runners_.push_back({main, size, 1});
    for (const OtherJob& job : jobs_) runners_.push_back({job.world, job.size, job.duty});
    owners_ = runners_.size() + main.scenario().background.size();
    // Units of the progress: alone, beside all, pairs, and placements. Each counts the same, though training steps take
    // longer.
    work_ = 2 * runners_.size() + runners_.size() * owners_ + 8;
  }

  JobsForecast run() {
    run_alone();
    run_beside();
    run_pairs();
    find_links();
    try_placements();
    set_flows_apart();
    finish();
    return std::move(f_);
  }

 private:
  void report(double work) {
    if (!options_.progress) return;
    const std::scoped_lock lock(mutex_);
    done_ += work;
    options_.progress(std::min(1.0, done_ / static_cast<double>(work_)));
  }
  std::size_t threads() const { return thread_count(options_.threads); }

  void run_alone() {
    f_.jobs.resize(runners_.size());
    traffic_.resize(owners_);
    in_parallel(owners_, threads(), [&](std::size_t i) {
      const auto owner = static_cast<std::uint32_t>(i);
      if (i >= runners_.size()) {
        traffic_[i] = traffic_of_flows(main_, i - runners_.size(), owner);
        return;
      }
      const Runner& r = runners_[i];
      JobRow& row = f_.jobs[i];
      row.alone = time_job(r.world, r.size, single_);
      traffic_[i] = traffic_of_job(r.world, row.alone, r.duty, main_.samples(), owner);
      row.name = i == 0 ? "main" : jobs_[i - 1].name;
      row.what = what_of(r.world.scenario(), r.size);
      row.hosts = i == 0 ? main_.allocation().main : jobs_[i - 1].hosts;
      row.shape = shape_of(at_, row.hosts);
      row.traffic_class = class_name(r.world, class_of_main(r.world));
      report(1);
    });
  }

  /// The time of a job concurrently with these owners. \param samples  maximum number of samples; 0: all
  Seconds time_beside(std::size_t job, const std::vector<std::size_t>& others, int samples, JobTime* kept = nullptr) {
    std::vector<const BySample*> owners;
    for (const std::size_t o : others) owners.push_back(&traffic_[o]);
    World world = runners_[job].world.with_beside(beside_of(main_, owners));
    if (samples > 0) world = world.with_samples_up_to(samples);
    JobTime found = time_job(world, runners_[job].size, single_);
    const Seconds time = found.time;
    if (kept) *kept = std::move(found);
    return time;
  }

  std::vector<std::size_t> all_but(std::size_t job) const {
    std::vector<std::size_t> others;
    for (std::size_t o = 0; o < owners_; ++o)
      if (o != job) others.push_back(o);
    return others;
  }

  void run_beside() {
    in_parallel(runners_.size(), threads(), [&](std::size_t i) {
      time_beside(i, all_but(i), 0, &f_.jobs[i].beside);
      report(1);
    });
    for (std::size_t k = runners_.size(); k < owners_; ++k) {
      FlowRow row;
      const BackgroundSpec& flows = main_.scenario().background[k - runners_.size()];
      row.name = flows.name;
      row.what = what_of(flows);
      if (flows.network == FlowNetwork::compute) row.traffic_class = class_name(main_, class_of_flows(main_, flows));
      row.wanted = std::accumulate(traffic_[k].front().rate.begin(), traffic_[k].front().rate.end(), BytesPerSecond{});
      f_.flows.push_back(row);
    }
    if (f_.flows.empty()) return;
    std::vector<std::vector<BytesPerSecond>> got(f_.flows.size());
    std::vector<const BySample*> owners;
    for (const BySample& t : traffic_) owners.push_back(&t);
    // What flows get is their max-min share next to all jobs, which are in the combination like any other owner.
    for (const auto& sample : beside_of(main_, owners)) {
      std::vector<BytesPerSecond> sum(f_.flows.size());
      for (std::size_t i = 0; i < sample->rate.size(); ++i)
        if (sample->owner[i] >= runners_.size()) sum[sample->owner[i] - runners_.size()] += sample->rate[i];
      for (std::size_t k = 0; k < sum.size(); ++k) got[k].push_back(sum[k]);
    }
    for (std::size_t k = 0; k < got.size(); ++k) {
      std::sort(got[k].begin(), got[k].end());
      // The median over samples, like the times of jobs.
      f_.flows[k].got = got[k][got[k].size() / 2];
    }
  }

  void run_pairs() {
    f_.slowdown.assign(runners_.size(), std::vector<double>(owners_, 1));
    in_parallel(runners_.size(), threads(), [&](std::size_t i) {
      Seconds alone;
      for (std::size_t o = 0; o < owners_; ++o) {
        if (o != i && meet(traffic_[i], traffic_[o])) {
          // Compared with the job alone on the same few samples, not with its median over all.
          if (alone == Seconds{}) alone = time_beside(i, {}, few_samples);
          f_.slowdown[i][o] = time_beside(i, {o}, few_samples) / alone;
        }
        report(1);
      }
    });
  }

  // In the first sample. The load of a link is what owners would send if each had the fabric to itself, so it may
  // exceed 1: then some of them wait.
  void find_links() {
    std::map<std::uint32_t, std::vector<double>> loads;
    for (std::size_t o = 0; o < owners_; ++o)
      for (const Background::Use& u : traffic_[o].front().uses) {
        std::vector<double>& load = loads[u.resource];
        load.resize(owners_, 0);
        load[o] += u.use * traffic_[o].front().rate[u.item].value;
      }
    // Names of links need a router: with adaptive routing a resource is a bundle of links.
    const auto router = main_.setup().policy->make(*main_.setup().policy_spec, *main_.fabric(),
                                                   main_.setup().segments.front().links, main_.samples().first_seed);
    for (auto& [resource, load] : loads) {
      const double sum = std::accumulate(load.begin(), load.end(), 0.0);
      const auto users = std::count_if(load.begin(), load.end(), [](double l) { return l > 0; });
      if (users < 2) continue;
      ++f_.shared;
      f_.contended += sum > 1 + 1e-9;
      f_.links.push_back({resource_name(*main_.fabric(), *router, resource), sum, std::move(load)});
    }
    std::stable_sort(f_.links.begin(), f_.links.end(), [](const auto& a, const auto& b) { return a.load > b.load; });
    f_.links.resize(std::min(f_.links.size(), most_links));
  }

  /// The scenario with its own job placed by a policy, and all others fixed where they are.
  /// Random policies would otherwise choose again, and lists are placed before policies, so everything else becomes a
  /// list. `filled` becomes the hosts that it took.
  Scenario moved(Placement placement, const std::vector<std::uint32_t>& order = {}) const {
    Scenario s = main_.scenario();
    for (std::size_t j = 0; j < s.jobs.size(); ++j) {
      s.jobs[j].placement = Placement::list;
      s.jobs[j].order.assign(main_.allocation().jobs[j].begin(), main_.allocation().jobs[j].end());
    }
    s.cluster.taken.clear();
    for (const std::uint32_t host : main_.allocation().taken) s.cluster.taken.push_back(fmt::to_string(host));
    s.cluster.filled = {0};
    s.cluster.placement = placement;
    s.cluster.order.assign(order.begin(), order.end());
    return s;
  }

  PlacementTrial try_on(Placement placement, const std::vector<std::uint32_t>& order = {}) {
    const World world = build_world(moved(placement, order)).with_samples_up_to(few_samples);
    PlacementTrial t;
    t.placement = placement;
    t.hosts = world.allocation().main;
    t.shape = shape_of(at_, t.hosts);
    t.alone = time_job(world, runners_[0].size, single_).time;
    std::vector<const BySample*> owners;
    for (std::size_t o = 1; o < runners_.size(); ++o) owners.push_back(&traffic_[o]);
    // Flows of the scenario's own job move with it.
    std::vector<BySample> flows(owners_ - runners_.size());
    for (std::size_t k = 0; k < flows.size(); ++k) {
      flows[k] = traffic_of_flows(world, k, static_cast<std::uint32_t>(runners_.size() + k));
      owners.push_back(&flows[k]);
    }
    t.beside = time_job(world.with_beside(beside_of(main_, owners)), runners_[0].size, single_).time;
    t.given = t.hosts == main_.allocation().main;
    return t;
  }

  void try_placements() {
    constexpr std::array policies{Placement::in_order, Placement::random,       Placement::packed,
                                  Placement::spread,   Placement::rail_aligned, Placement::topology_aware};
    f_.trials.resize(policies.size());
    in_parallel(policies.size(), threads(), [&](std::size_t i) {
      f_.trials[i] = try_on(policies[i]);
      report(1);
    });
    if (std::none_of(f_.trials.begin(), f_.trials.end(), [](const auto& t) { return t.given; }))
      f_.trials.push_back(try_on(Placement::list, main_.allocation().main));
    std::stable_sort(f_.trials.begin(), f_.trials.end(), [](const auto& a, const auto& b) {
      // Times that agree to six digits are equal; then the scenario's own placement wins, since moving a job costs
      // something.
      const double x = rounded(a.beside.value, 6), y = rounded(b.beside.value, 6);
      return x != y ? x < y : a.given && !b.given;
    });
    // The best hosts in a random order of ranks show how much of the gain is the set of hosts, and how much their
    // order. Hosts that share NVLink stay together.
    std::vector<HostUnit> units;
    const std::vector<std::uint32_t>& best = f_.trials.front().hosts;
    const std::size_t hosts = main_.planner().comm.hosts_per_node;
    for (std::size_t i = 0; i < best.size(); i += hosts)
      units.emplace_back(best.begin() + static_cast<std::ptrdiff_t>(i),
                         best.begin() + static_cast<std::ptrdiff_t>(i + hosts));
    Rng rng(1);
    shuffle(units, rng);
    std::vector<std::uint32_t> order;
    for (const HostUnit& unit : units) order.insert(order.end(), unit.begin(), unit.end());
    f_.shuffled = try_on(Placement::list, order).beside;
  }

  void set_flows_apart() {
    const Scenario& given = main_.scenario();
    const std::vector<double>& by = f_.slowdown.front();
    const bool slow = std::any_of(by.begin() + static_cast<std::ptrdiff_t>(runners_.size()), by.end(),
                                  [](double s) { return s > 1 + least_slowdown; });
    if (!slow || !given.fabric.congestion.classes.empty()) return;
    FlowsApart apart;
    Scenario s = given;
    s.fabric.congestion.classes = {{"jobs", {0.9}, false, {}}, {"flows", {0.1}, false, {}}};
    apart.set.emplace_back("fabric.congestion.classes=[{name: jobs, weight: 0.9}, {name: flows, weight: 0.1}]");
    for (std::size_t i = 0; i < s.background.size(); ++i) {
      s.background[i].traffic_class = "flows";
      apart.set.push_back(fmt::format("background[{}].class=flows", i));
    }
    const World world = build_world(std::move(s));
    // Jobs are in the first class, as before, and their traffic is the same.
    std::vector<BySample> flows(owners_ - runners_.size());
    std::vector<const BySample*> owners;
    for (std::size_t o = 1; o < runners_.size(); ++o) owners.push_back(&traffic_[o]);
    for (std::size_t k = 0; k < flows.size(); ++k) {
      flows[k] = traffic_of_flows(world, k, static_cast<std::uint32_t>(runners_.size() + k));
      owners.push_back(&flows[k]);
    }
    apart.beside = time_job(world.with_beside(beside_of(world, owners)), runners_[0].size, single_).time;
    if (apart.beside < f_.jobs.front().beside.time * (1 - least_slowdown)) f_.apart = std::move(apart);
  }

  void finish() {
    f_.world = main_;
    f_.samples_of_trials = std::min(main_.samples().count, few_samples);
    f_.hosts = static_cast<std::uint32_t>(main_.scenario().cluster.size);
    std::size_t held = main_.allocation().storage.size() + main_.allocation().taken.size();
    for (const auto& hosts : main_.allocation().jobs) held += hosts.size();
    f_.free = f_.hosts - static_cast<std::uint32_t>(held);
    for (const JobRow& row : f_.jobs)
      f_.fingerprint = fold(fold(f_.fingerprint, row.alone.fingerprint), row.beside.fingerprint);
    if (options_.progress) options_.progress(1);
  }

  const World& main_;
  RunOptions options_, single_;
  std::vector<OtherJob> jobs_;
  std::vector<Runner> runners_;
  Locality at_;
  std::vector<BySample> traffic_;  ///< by owner: jobs, then flows
  std::size_t owners_ = 0, work_ = 0;
  double done_ = 0;
  std::mutex mutex_;
  JobsForecast f_;
};

}  // namespace

JobsForecast forecast_jobs(const World& world, std::int64_t size, const RunOptions& options) {
  check_others(world);
  return Comparison(world, size, options).run();
}

std::vector<std::string> placement_words(const World& world, const std::vector<std::uint32_t>& hosts) {
  const Scenario& s = world.scenario();
  std::vector<std::string> words{fmt::format("cluster.placement=[{}]", fmt::join(hosts, ", "))};
  if (s.cluster.filled.value > 0) {
    words.push_back(fmt::format("cluster.taken=[{}]", hosts_text(world.allocation().taken)));
    words.emplace_back("cluster.filled=0");
  }
  // Lists are placed before policies. Fixing the main job alone would therefore change which hosts the policies of
  // other jobs find free.
  for (std::size_t j = 0; j < s.jobs.size(); ++j)
    if (s.jobs[j].placement != Placement::list)
      words.push_back(fmt::format("jobs[{}].placement=[{}]", j, fmt::join(world.allocation().jobs[j], ", ")));
  return words;
}

}  // namespace fabricast
