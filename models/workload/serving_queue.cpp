// Discrete-event simulation of serving: groups of replicas run pass after pass, and requests arrive and end between
// passes.
//
// Groups are replicas that share experts, so that their passes start together. Each event is either the next arrival or
// the next pass of the group that is free first. A request passes the frontend, is assigned to the replica with the
// fewest requests, waits until it is admitted to a pass, and is decoded until its output ends. Consecutive decode
// passes between which nothing can happen are run as one event, at their mean context. Tests compare the simulation
// with queueing theory (M/D/1, Little's law).
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>

#include "fabricast/core/error.hpp"
#include "serving_replica.hpp"

namespace fabricast {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A request that a router has sent to a replica, but that the engine has not seen yet.
struct Unseen {
  std::size_t replica, request;
  double arrival;
};

/// Replicas whose passes start together.
struct Group {
  const ServingPool* pool = nullptr;
  Duty duty = Duty::both;
  double now = 0;             ///< when the next pass may start
  std::int64_t waited = 0;    ///< passes that prompts have waited for further prompts
  std::int64_t unlooked = 0;  ///< decode passes since the last check for new requests
  double began = 0;           ///< when the last pass started
  std::vector<ServingReplica> replicas;
  std::vector<double> sender_free;  ///< by replica: when its last KV-cache transfer ends
  std::deque<Unseen> unseen;        ///< in the order of arrival

  bool idle() const {
    return std::none_of(replicas.begin(), replicas.end(), [](const ServingReplica& r) { return r.requests() > 0; });
  }
  bool busy() const { return !unseen.empty() || !idle(); }
  std::int64_t sequences() const {
    std::int64_t all = 0;
    for (const ServingReplica& r : replicas) all += r.sequences();
    return all;
  }
};

/// A request that arrives at the engines for prompts, or at those that decode.
struct Arrival {
  double time;
  std::size_t request;
  bool decoding;
  // Ties are resolved by number, so that results do not depend on the queue's internal order.
  bool operator>(const Arrival& other) const {
    return time != other.time ? time > other.time : request > other.request;
  }
};

/// Median of (value, weight) pairs; 0 if there are none.
// By selection instead of sorting: a load has millions of gaps.
double weighted_median(std::vector<std::pair<double, double>> values) {
  if (values.empty()) return 0;
  double left = 0;
  for (const auto& [value, weight] : values) left += weight / 2;
  auto begin = values.begin(), end = values.end();
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    double below = 0;
    for (auto it = begin; it != middle; ++it) below += it->second;
    if (below >= left)
      end = middle;
    else {
      left -= below;
      begin = middle;
    }
  }
  return begin->first;
}

class Simulation {
 public:
  Simulation(const ServingLoad& load, const Frontend& frontend, const CacheTransfer& transfer)
      : load_(load), frontend_(frontend), transfer_(transfer) {
    served_.requests.resize(load.requests.size());
  }

  void add(const ServingPool& pool, Duty duty) {
    FABRICAST_CHECK(pool.together >= 1 && pool.replicas % pool.together == 0, "replicas that start together");
    FABRICAST_CHECK(pool.tokens_per_step >= 1, "a decode step yields at least one token");
    const auto together = static_cast<std::size_t>(pool.together);
    for (int g = 0; g < pool.replicas / pool.together; ++g) {
      Group group;
      group.pool = &pool;
      group.duty = duty;
      group.replicas.assign(together, ServingReplica(load_, pool, duty));
      group.sender_free.assign(together, 0);
      groups_.push_back(std::move(group));
    }
    // One frontend for each group of replicas.
    if (duty != Duty::decoding) frontends_ = pool.replicas / pool.together;
    if (duty != Duty::decoding) loading_replicas_ = pool.replicas;
    if (duty != Duty::prompts) decoding_replicas_ = pool.replicas;
  }

  Served run() {
    // Closed arrivals: as many requests as clients at the beginning, and the next one when a request ends. All other
    // arrivals are known in advance.
    std::size_t at_once = load_.requests.size();
    if (load_.clients > 0) at_once = std::min(at_once, static_cast<std::size_t>(load_.clients));
    for (; next_ < at_once; ++next_) arrive(next_, load_.clients > 0 ? 0 : load_.requests[next_].arrival.value);
    for (;;) {
      Group* first = nullptr;
      for (Group& g : groups_)
        if (g.busy() && (!first || g.now < first->now)) first = &g;
      const double start = first ? first->now : never;
      // Arrivals first: a request that arrives when a pass starts can still join it.
      if (!arrivals_.empty() && arrivals_.top().time <= start)
        admit_next();
      else if (first)
        run_pass(*first);
      else
        return summary();
    }
  }

 private:
  void arrive(std::size_t request, double time) {
    served_.requests[request].arrival = Seconds{time};
    served_.requests[request].output = load_.requests[request].output;
    // Requests that arrive together pass the frontends one after the other.
    frontend_free_ = std::max(frontend_free_, time) + frontend_.serial.value / frontends_;
    const double seen = std::max(time + frontend_.before.value, frontend_free_);
    // Requests are spread evenly over replicas, so each of them loads its share of all prefixes.
    const double load = frontend_.load.value * static_cast<double>(load_.requests[request].cached);
    loaded_ = std::max(loaded_, seen) + load / loading_replicas_;
    arrivals_.push({std::max(seen + load, loaded_), request, false});
  }

  /// Assigns the next arrival to the replica with the fewest requests.
  void admit_next() {
    const Arrival arrival = arrivals_.top();
    arrivals_.pop();
    Group* where = nullptr;
    std::size_t which = 0, least = std::numeric_limits<std::size_t>::max();
    for (Group& g : groups_) {
      if ((g.duty == Duty::decoding) != arrival.decoding) continue;
      for (std::size_t r = 0; r < g.replicas.size(); ++r) {
        std::size_t requests = g.replicas[r].requests();
        // Requests that the engine has not seen yet count, since the router has sent them there.
        for (const Unseen& u : g.unseen) requests += u.replica == r;
        if (requests >= least) continue;
        least = requests;
        where = &g;
        which = r;
      }
    }
    // An idle group has no next pass; its time continues when a request arrives.
    if (!where->busy()) where->now = std::max(where->now, arrival.time);
    where->unseen.push_back({which, arrival.request, arrival.time});
  }

  /// The engine checks for new requests. An idle engine checks at any time, one that decodes only every `receive`
  /// passes.
  static void look(Group& g) {
    if (!g.idle() && g.unlooked < g.pool->prompts.receive) return;
    // A host that plans ahead has fixed this pass when the last one started, so a request that came later joins the
    // next one. Engines that only process prompts do not plan ahead.
    const bool fixed = g.pool->prompts.ahead && g.duty != Duty::prompts && !g.idle();
    const double until = fixed ? g.began : never;
    while (!g.unseen.empty() && g.unseen.front().arrival <= until) {
      g.replicas[g.unseen.front().replica].receive(g.unseen.front().request);
      g.unseen.pop_front();
    }
    g.unlooked = 0;
  }

  // Only where prompts have GPUs of their own: sequences whose KV cache has arrived.
  void take_places(Group& g) {
    for (ServingReplica& r : g.replicas)
      for (;;) {
        const std::size_t request = r.take_place();
        if (request == ServingReplica::no_request) break;
        begin_answer(r, request, g.now);
      }
  }

  /// \returns whether some replica starts prompts now
  static bool plan_prompts(const Group& g, std::vector<PassPlan>& plans) {
    if (g.duty == Duty::decoding) return false;
    std::size_t with = 0;
    double filled = 0;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      g.replicas[i].plan_prompts(plans[i]);
      with += plans[i].pass.prompts > 0;
      filled = std::max(filled, g.replicas[i].filled());
    }
    if (with == 0) return false;
    // Prompts start at once if nothing is decoded. Otherwise the policy may hold them back for more prompts, at most
    // for `wait` passes.
    const PromptPolicy& policy = g.pool->prompts;
    const bool enough = with == plans.size() && filled >= policy.fill;
    if (enough || g.sequences() == 0 || g.waited >= policy.wait) return true;
    for (PassPlan& p : plans) p = {};
    return false;
  }

  static bool prompts_wait(const Group& g) {
    return g.duty == Duty::both &&
           std::any_of(g.replicas.begin(), g.replicas.end(), [](const ServingReplica& r) { return r.can_admit(); });
  }

  /// Number of pure decode steps of `seconds` each before anything else may happen.
  std::int64_t steps_until(const Group& g, std::int64_t most, double seconds) const {
    if (!g.unseen.empty()) most = std::min(most, g.pool->prompts.receive - g.unlooked);
    const double steps = std::ceil((next_event(g) - g.now) / seconds);
    if (steps < static_cast<double>(most)) most = static_cast<std::int64_t>(steps);
    if (prompts_wait(g)) most = std::min(most, g.pool->prompts.wait - g.waited);
    return std::max<std::int64_t>(1, most);
  }

  void run_pass(Group& g) {
    look(g);
    if (g.duty == Duty::decoding) take_places(g);
    std::vector<PassPlan> plans(g.replicas.size());
    const bool prompts = plan_prompts(g, plans);
    // If prompts have passes of their own, all replicas that start together wait for them.
    const bool decodes = g.pool->prompts.mixed || !prompts;
    std::int64_t steps = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const ServingReplica& r = g.replicas[i];
      if (!decodes || r.sequences() == 0) continue;
      const InferencePass decoding = r.decoding();
      plans[i].pass.sequences = decoding.sequences;
      plans[i].pass.context = decoding.context;
      plans[i].pass.width = decoding.width;
      steps = std::min(steps, r.steps_left());
    }
    double seconds = seconds_of(g, plans);
    const bool nothing = steps == std::numeric_limits<std::int64_t>::max();
    steps = prompts || nothing ? 1 : steps_until(g, steps, seconds);
    // Contexts grow by one step's tokens in every pass, so the mean context of all these passes is half of that
    // further.
    if (steps > 1) {
      const double grown = g.pool->tokens_per_step * static_cast<double>(steps - 1) / 2;
      for (PassPlan& p : plans) p.pass.context += p.pass.sequences > 0 ? std::llround(grown) : 0;
      seconds = seconds_of(g, plans);
    }
    g.waited = !prompts && prompts_wait(g) ? g.waited + steps : 0;
    // After a pass with prompts the engine checks for new requests.
    g.unlooked = prompts ? g.pool->prompts.receive : g.unlooked + steps;
    const double first = g.now + seconds;
    decoding_time_ += static_cast<double>(steps) * seconds * static_cast<double>(g.sequences());
    g.began = g.now + static_cast<double>(steps - 1) * seconds;
    g.now += static_cast<double>(steps) * seconds;
    for (std::size_t i = 0; i < plans.size(); ++i) finish(g, i, plans[i], steps, first);
    served_.time = std::max(served_.time, Seconds{g.now});
  }

  double seconds_of(const Group& g, const std::vector<PassPlan>& plans) {
    passes_.clear();
    for (const PassPlan& p : plans) passes_.push_back(p.pass);
    return g.pool->time(passes_).value;
  }

  /// Earliest time at which something may arrive at this group.
  double next_event(const Group& mine) const {
    double time = arrivals_.empty() ? never : arrivals_.top().time;
    for (const Group& g : groups_)
      if (&g != &mine && g.busy()) time = std::min(time, g.now);
    return time;
  }

  /// \param first  when the first of the steps ends
  void finish(Group& g, std::size_t replica, const PassPlan& plan, std::int64_t steps, double first) {
    ServingReplica& r = g.replicas[replica];
    if (plan.pass.sequences > 0)
      for (const std::size_t request : r.decode(steps, first, g.now)) end(request, g.now);
    r.end_prompts(plan);
    for (const std::size_t request : plan.prompts)
      // The prompt's last token yields the first output token, here or, after the transfer of the KV cache, on the GPUs
      // that decode.
      if (g.duty == Duty::both)
        begin_answer(r, request, g.now);
      else
        transfer_cache(g.sender_free[replica], request, g.now);
  }

  void begin_answer(ServingReplica& r, std::size_t request, double now) {
    served_.requests[request].first_token = Seconds{now} + frontend_.after;
    if (load_.requests[request].output == 1)
      end(request, now);
    else
      r.start_decoding(request, now);
  }

  void transfer_cache(double& sender_free, std::size_t request, double now) {
    // A sender has one transfer in flight. `exposed` is what remains of a transfer when the prompt ends, if layers are
    // sent while it computes.
    sender_free = std::max(now + transfer_.exposed.value, sender_free + transfer_.time.value);
    arrivals_.push({sender_free, request, true});
  }

  void end(std::size_t request, double now) {
    served_.requests[request].end = Seconds{now} + frontend_.after;
    if (load_.clients > 0 && next_ < load_.requests.size()) arrive(next_++, now + frontend_.after.value);
  }

  Served summary() {
    std::vector<std::pair<double, double>> gaps;
    for (const Group& g : groups_)
      for (const ServingReplica& r : g.replicas) {
        served_.longest_gap = std::max(served_.longest_gap, Seconds{r.longest_gap()});
        gaps.insert(gaps.end(), r.gaps().begin(), r.gaps().end());
      }
    served_.median_gap = Seconds{weighted_median(std::move(gaps))};
    if (served_.time > Seconds{}) served_.sequences = decoding_time_ / served_.time.value / decoding_replicas_;
    served_.time += frontend_.after;
    return std::move(served_);
  }

  const ServingLoad& load_;
  Frontend frontend_;
  CacheTransfer transfer_;
  std::vector<Group> groups_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::vector<InferencePass> passes_;
  std::size_t next_ = 0;                   ///< next request that has not arrived yet
  double frontend_free_ = 0, loaded_ = 0;  ///< when the frontend, and the loading of prefixes, are free again
  int frontends_ = 1, loading_replicas_ = 1, decoding_replicas_ = 1;
  double decoding_time_ = 0;  ///< sum of the decode time of all sequences, in s
  Served served_;
};

}  // namespace

Served serve(const ServingLoad& load, const Frontend& frontend, const ServingPool& pool) {
  Simulation simulation(load, frontend, {});
  simulation.add(pool, Duty::both);
  return simulation.run();
}

Served serve_apart(const ServingLoad& load, const Frontend& frontend, const ServingPool& prompts,
                   const CacheTransfer& transfer, const ServingPool& decoding) {
  Simulation simulation(load, frontend, transfer);
  simulation.add(prompts, Duty::prompts);
  simulation.add(decoding, Duty::decoding);
  return simulation.run();
}

}  // namespace fabricast
