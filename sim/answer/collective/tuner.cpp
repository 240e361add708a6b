// Chooses what a tuner table should say: simulates algorithms, protocols and channels by size, and joins sizes with
// equal choices (report/tuner.hpp, docs/models/what-if.md). tuner_csv.cpp writes the file.
//
// A table is data that overrides NCCL until someone removes it, so the choice is conservative: NCCL's stays unless
// another gains more than `least_gain`, and the previous size's stays while it is as good.
#include "fabricast/report/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "fabricast/report/what_if.hpp"
#include "tuner_parts.hpp"

namespace fabricast {

namespace {

// NCCL asks tuners about these operations only; sends and receives have no choice of algorithm.
constexpr std::array tuned = {CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::all_gather,
                              CollectiveOp::reduce_scatter, CollectiveOp::all_reduce};

/// Powers of two in this range are simulated. Below it, only latency matters; above it, only bandwidth.
constexpr std::int64_t least_size = 256, most_size = std::int64_t{1} << 34;

/// Rings and trees run with any number of channels. For the others, the search graph determines the number.
bool is_plain(Algorithm algorithm) { return algorithm == Algorithm::ring || algorithm == Algorithm::tree; }

/// Channels are varied for choices whose time, with NCCL's number of channels, is within this factor of the best.
constexpr double worth_varying = 1.2;

TunerChoice choice_of(const ForecastRow& row) { return {row.algorithm, row.protocol, row.channels, row.time}; }

/// What was simulated of one size.
struct Tried {
  std::int64_t bytes = 0;
  TunerChoice nccl;
  std::vector<TunerChoice> choices;
};

/// Simulates every algorithm and protocol with NCCL's number of channels.
/// All sizes of an operation run in one call of run_plans, which divides them over threads.
std::vector<Tried> try_algorithms(const World& world, CollectiveOp op, const RunOptions& options) {
  std::vector<Tried> tried;
  std::vector<Plan> plans;
  std::vector<std::size_t> owner;
  for (std::int64_t bytes = least_size; bytes <= most_size; bytes *= 2) {
    const std::vector<Candidate> candidates = plan_collective(world.planner(), op, bytes).candidates;
    const auto plan_of = [&](const Candidate& c) {
      return plan_collective(world.planner(), op, bytes, c.algorithm, c.protocol);
    };
    const Candidate& first = candidates.front();
    // NCCL's choice, with time 0 until its row is found: it stays 0 if the choice has no schedule.
    tried.push_back({bytes, {first.algorithm, first.protocol, plan_of(first).channels, 0}, {}});
    for (const Candidate& c : candidates)
      if (is_simulated(world.planner().comm, op, c.algorithm, c.protocol)) {
        plans.push_back(plan_of(c));
        owner.push_back(tried.size() - 1);
      }
  }
  const Forecast forecast = run_plans(world, std::move(plans), options);
  for (std::size_t i = 0; i < owner.size(); ++i) tried[owner[i]].choices.push_back(choice_of(forecast.rows[i]));
  for (Tried& t : tried)
    for (const TunerChoice& c : t.choices)
      if (same(c, t.nccl)) t.nccl = c;
  return tried;
}

/// Adds the good choices with all channels, half of them, a quarter, and so on.
void try_channels(const World& world, CollectiveOp op, std::vector<Tried>& tried, const RunOptions& options) {
  std::vector<Plan> plans;
  std::vector<std::size_t> owner;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    Seconds best{std::numeric_limits<double>::infinity()};
    for (const TunerChoice& c : tried[i].choices) best = std::min(best, c.time);
    for (const TunerChoice& c : tried[i].choices) {
      if (!is_plain(c.algorithm) || c.time > worth_varying * best) continue;
      int last = 0;  // a call may use fewer channels than the limit, so limits can give equal plans
      // Fewer channels take fewer SMs and, at small sizes, less launch time and latency. `most` is a limit, as a
      // tuner's line is.
      for (int most = world.planner().comm.channels; most >= 1; most /= 2) {
        Plan plan = plan_collective(world.planner(), op, tried[i].bytes, c.algorithm, c.protocol, most);
        if (plan.channels == last || plan.channels == c.channels) continue;
        last = plan.channels;
        plans.push_back(std::move(plan));
        owner.push_back(i);
      }
    }
  }
  const Forecast forecast = run_plans(world, std::move(plans), options);
  for (std::size_t i = 0; i < owner.size(); ++i) tried[owner[i]].choices.push_back(choice_of(forecast.rows[i]));
}

/// NCCL's choice if it is within `least_gain` of the fastest, otherwise that of the previous size if it is, otherwise
/// the fastest.
template <class Allowed>
TunerChoice choose(const Tried& tried, const TunerChoice& before, Allowed allowed) {
  const TunerChoice* best = nullptr;
  for (const TunerChoice& c : tried.choices)
    if (allowed(c) && (!best || c.time < best->time)) best = &c;
  // 0 channels: nothing allowed was simulated at this size.
  if (!best) return {Algorithm::ring, Protocol::simple, 0, 0};
  // The order is the preference. 1 - best / time is what the fastest would gain over this choice.
  for (const TunerChoice& wanted : {tried.nccl, before})
    for (const TunerChoice& c : tried.choices)
      if (allowed(c) && same(c, wanted) && 1 - best->time / c.time <= least_gain) return c;
  return *best;
}

std::vector<TunerRange> ranges_of(const std::vector<TunerPoint>& points, TunerChoice TunerPoint::*which) {
  std::vector<TunerRange> ranges;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const TunerChoice& choice = points[i].*which;
    if (ranges.empty() || !same(ranges.back().choice, choice))
      ranges.push_back({first_size(points, i), 0, choice, i, i});
    ranges.back().last = last_size(points, i);
    ranges.back().end = i + 1;
  }
  return ranges;
}

TunerTable table_of(const World& world, CollectiveOp op, const std::vector<Tried>& tried) {
  TunerTable table;
  table.op = op;
  table.nodes = world.planner().comm.nodes();
  table.ranks = world.planner().comm.ranks();
  TunerChoice choice{Algorithm::ring, Protocol::simple, 0, 0}, plain = choice;
  for (const Tried& t : tried) {
    // A choice without a schedule cannot be compared, so it stays.
    choice = t.nccl.time > Seconds{} ? choose(t, choice, [](const TunerChoice&) { return true; }) : t.nccl;
    plain = choose(t, plain, [](const TunerChoice& c) { return is_plain(c.algorithm); });
    table.points.push_back({t.bytes, t.nccl, choice, plain});
  }
  // Ranges cover all sizes: the first begins at 0 and the last has no end, because a call without a line runs on one
  // channel.
  table.ranges = ranges_of(table.points, &TunerPoint::choice);
  if (table.points.back().plain.channels > 0) table.plain = ranges_of(table.points, &TunerPoint::plain);
  // What every data type and operator can run: Simple rings, if NCCL allows them here. Otherwise the choice for the
  // largest size.
  const bool ring = world.planner().costs.time(op, Algorithm::ring, Protocol::simple, most_size) >= 0;
  table.otherwise = table.points.back().choice;
  if (ring) table.otherwise = {Algorithm::ring, Protocol::simple, world.planner().comm.channels, 0};
  return table;
}

std::vector<TunerTable> tables_of(const World& world, const RunOptions& options) {
  std::vector<TunerTable> tables;
  for (const CollectiveOp op : tuned) {
    // Each operation has an equal share of the progress, half of it for each of its two rounds.
    const double done = static_cast<double>(tables.size()) / tuned.size(), half = 0.5 / tuned.size();
    std::vector<Tried> tried = try_algorithms(world, op, part_of(options, done, done + half));
    try_channels(world, op, tried, part_of(options, done + half, done + 2 * half));
    tables.push_back(table_of(world, op, tried));
  }
  return tables;
}

/// A job on one NCCL node, without faults.
World one_node_of(const World& world) {
  Scenario s = world.scenario();
  // Hosts that share NVLink are one node of NCCL. Faults name hosts of the whole fabric, which a single node does not
  // have.
  s.cluster.nodes = s.cluster.size = static_cast<int>(world.planner().comm.hosts_per_node);
  s.cluster.placement = Placement::in_order;
  s.cluster.order.clear();
  s.faults.clear();
  return build_world(std::move(s));
}

}  // namespace

bool TunerTable::only_plain() const {
  return std::all_of(ranges.begin(), ranges.end(), [](const TunerRange& r) { return is_plain(r.choice.algorithm); });
}

TunerTables tuner_tables(const World& world, const RunOptions& options) {
  require_flow_engine(world);
  TunerTables tables;
  tables.world = world;
  // A node with one GPU has no communicator of its own.
  const bool several = world.planner().comm.nodes() > 1 && world.planner().comm.gpus() > 1;
  tables.job = tables_of(world, part_of(options, 0, several ? 0.8 : 1));
  if (!several) return tables;
  tables.node = one_node_of(world);
  tables.one_node = tables_of(tables.node, part_of(options, 0.8, 1));
  return tables;
}

}  // namespace fabricast
