// How a fluid network settles: the order of levels, and what one level takes along (pseudocode: engine/fluid.hpp).
#include <algorithm>
#include <cmath>

#include "fabricast/fluid/sharing.hpp"
#include "fluid_levels.hpp"

namespace fabricast {

namespace {

/// Sums are taken anew at every so many visits, or their rounding errors would pile up.
constexpr std::uint32_t visits_per_sum = 64;
/// An arrival costs about what filling so many flows and rows does: more where traffic is dense, less where it is not.
constexpr std::size_t fills_per_arrival = 16;

}  // namespace

void FluidLevels::settle() {
  if (fills_per_arrival * arrivals_.size() > active_ + rows_.size()) {
    refill();
  } else {
    for (const std::uint32_t flow : arrivals_) admit(flow);
    arrivals_.clear();
    relax();
  }
}

/// Enqueues a row that needs a new level, if it does; the change that reached it leaves all levels below `floor` alone.
void FluidLevels::consider(std::uint32_t row, double floor) {
  const Gauge& g = gauges_[row];
  if ((g.taken < g.low || g.taken > g.high) && row != in_hand_) enqueue(row, floor);
}

/// By the lesser of the old level and the new, as far as it is known now: below that nothing depends on the row.
void FluidLevels::enqueue(std::uint32_t row, double floor) {
  if (queue_.holds(row)) return;
  const Row& r = rows_[row];
  const Gauge& g = gauges_[row];
  double key = std::min(g.level, floor);
  if (r.weight > 0)
    key = std::min(g.level, std::max(floor, (r.capacity - g.taken) / r.weight));
  else if (g.taken <= r.capacity * full_)
    key = g.level;
  queue_.push(row, key);
  set_gauge(row);
}

/// Puts an arrival where it would get least if nothing else changed; settling corrects that.
void FluidLevels::admit(std::uint32_t flow) {
  std::uint32_t to = nowhere;
  double least = unbounded;
  for (const Use& use : flows_[flow].path) {
    const Row& r = rows_[use.row];
    const Gauge& g = gauges_[use.row];
    const double offer = g.level < unbounded ? g.level : (r.capacity - g.taken) / (r.weight + use.weight);
    if (to == nowhere || offer < least) to = use.row, least = offer;
  }
  attach(flow, to);
  set_gauge(to);
  for (const Use& use : flows_[flow].path) consider(use.row, 0);
  moved_flows_.push_back(flow);
}

void FluidLevels::relax() {
  const double most_visits = patience_ * static_cast<double>(rows_.size());
  for (double visits = 0; !queue_.empty(); ++visits) {
    if (visits >= most_visits) return refill();
    visit(queue_.pop());
  }
}

/// One step of settling: the row's level from (1), given the others'; then set, unless a lower row comes first.
void FluidLevels::visit(std::uint32_t row) {
  Row& r = rows_[row];
  const Gauge& g = gauges_[row];
  const bool renew = ++r.visits % visits_per_sum == 0;
  if (renew) sum_weight(row);
  if (renew || g.level == unbounded) sum_taken(row);
  double level = -unbounded;
  if (r.weight > 0)
    level = (r.capacity - g.taken) / r.weight;
  else if (g.taken <= r.capacity * full_)
    level = unbounded;
  level = take_over(row, level);
  const bool both_full = level < unbounded && g.level < unbounded;
  const bool steady = both_full ? std::abs(level - g.level) * r.weight <= slack(r, g.level) : level == g.level;
  if (steady && groups_.empty()) {
    set_gauge(row);
  } else if (const double key = std::min(level, g.level); queue_.before(row, key)) {
    queue_.push(row, key);
  } else {
    set_level(row, level);
  }
}

/// Lists in groups_ the members of other rows that must become members of this one by (2), highest level first: each
/// frees capacity that they do not get any longer, and so raises `level`. Returns it as it is when they have come.
double FluidLevels::take_over(std::uint32_t row, double level) {
  groups_.clear();
  if (level < unbounded) {
    const PairList& in = rows_[row].in;
    const double limit = std::max(level, 0.0) * (1 + tolerance_);
    const Gauge* gauges = gauges_.data();
    const std::uint32_t* others = in.rows();
    for (std::size_t i = 0, n = in.size(); i < n; ++i)
      if (const double its = gauges[others[i]].level; its > limit && its < unbounded)
        groups_.push_back({its, in.shared()[i].weight, others[i]});
    const auto lower = [](const Group& a, const Group& b) {
      return a.level < b.level || (a.level == b.level && a.row > b.row);
    };
    std::make_heap(groups_.begin(), groups_.end(), lower);
    double rest = rows_[row].capacity - gauges_[row].taken, weight = rows_[row].weight;
    auto end = groups_.end();
    while (end != groups_.begin() && groups_.front().level > level * (1 + tolerance_)) {
      std::pop_heap(groups_.begin(), end--, lower);
      rest += end->level * end->weight, weight += end->weight;
      level = rest / weight;
    }
    groups_.erase(groups_.begin(), end);
  }
  return std::max(level, 0.0);
}

void FluidLevels::set_level(std::uint32_t row, double level) {
  change_level(row, level);
  in_hand_ = row;
  newcomers_.clear();
  for (const Group& group : groups_)
    for (const std::uint32_t flow : rows_[group.row].members)
      for (const Use& use : flows_[flow].path)
        if (use.row == row) newcomers_.push_back(flow);
  for (const std::uint32_t flow : newcomers_) move(flow, row);
  in_hand_ = nowhere;
  set_gauge(row);
  consider(row, level);
}

/// The members go along, and take so much more or less of their other rows.
void FluidLevels::change_level(std::uint32_t row, double level) {
  Row& r = rows_[row];
  const double before = paid(row), floor = std::min(before, level);
  if (!r.changed) r.changed = true, changed_rows_.push_back(row);
  gauges_[row].level = level;
  if (r.members.empty()) return;

  // Most of the time goes here: plain loops, with no branch that is hard to foresee. Rows that do not wait are within
  // their bounds, so a rise can only take them over `high`, or over their own level; a fall, only below `low`.
  const std::size_t n = r.out.size();
  if (affected_.size() < n) affected_.resize(n);
  std::uint32_t* affected = affected_.data();
  std::size_t count = 0;
  const auto update = [&, others = r.out.rows(), shared = r.out.shared(), gauges = gauges_.data(),
                       step = level - before](auto leaves_bounds) {
    for (std::size_t i = 0; i < n; ++i) {
      Gauge& g = gauges[others[i]];
      g.taken += step * shared[i].weight;
      affected[count] = others[i];
      count += static_cast<std::size_t>(leaves_bounds(g));
    }
  };
  if (level > before)
    update([limit = level * (1 - tolerance_)](const Gauge& g) { return (g.taken > g.high) | (g.level < limit); });
  else
    update([](const Gauge& g) { return g.taken < g.low; });
  for (std::size_t i = 0; i < count; ++i) enqueue(affected[i], floor);
}

/// Everything anew, by progressive filling.
void FluidLevels::refill() {
  SharingProblem problem;
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    Row& r = rows_[row];
    problem.capacity.push_back(r.capacity);
    r.members.clear(), r.out.clear(), r.in.clear();
    r.weight = 0;
    gauges_[row].taken = 0, gauges_[row].level = unbounded;
    if (!r.changed) r.changed = true, changed_rows_.push_back(row);
  }
  problem.first.push_back(0);
  std::vector<std::uint32_t> flow_of;
  for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
    if (flows_[flow].path.empty()) continue;
    flow_of.push_back(flow);
    for (const Use& use : flows_[flow].path) problem.link.push_back(use.row), problem.use.push_back(use.weight);
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
  }
  problem.weight.assign(flow_of.size(), 1);
  problem.cap.assign(flow_of.size(), unbounded);

  const Sharing sharing = fill(problem);
  for (std::size_t i = 0; i < flow_of.size(); ++i) gauges_[sharing.bottleneck[i]].level = sharing.level[i];
  for (std::size_t i = 0; i < flow_of.size(); ++i) attach(flow_of[i], sharing.bottleneck[i]);
  moved_flows_.insert(moved_flows_.end(), flow_of.begin(), flow_of.end());
  while (!queue_.empty()) queue_.pop();
  for (std::uint32_t row = 0; row < rows_.size(); ++row) set_gauge(row);
  arrivals_.clear();
}

}  // namespace fabricast
