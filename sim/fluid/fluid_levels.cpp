#include "fluid_levels.hpp"

#include <algorithm>

#include "cancelled.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

/// Two links that carry the same flows are full together, up to rounding; only one of them may be the bottleneck.
constexpr double tie = 1e-11;
/// Relative rounding of R.
constexpr double rounding = 0x1p-50;

}  // namespace

FluidLevels::FluidLevels(double tolerance, double patience)
    : tolerance_(tolerance), patience_(patience), full_(1 + std::max(tie, tolerance)) {}

std::uint32_t FluidLevels::add_row(double capacity) {
  const auto row = static_cast<std::uint32_t>(rows_.size());
  rows_.emplace_back().capacity = capacity;
  gauges_.emplace_back();
  queue_.grow(rows_.size());
  set_gauge(row);
  return row;
}

void FluidLevels::set_capacity(std::uint32_t row, double capacity) {
  rows_[row].capacity = capacity;
  set_gauge(row);
  consider(row, 0);
}

std::uint32_t FluidLevels::start(std::span<const Use> path) {
  FABRICAST_CHECK(!path.empty(), "a flow needs something that bounds it");
  std::uint32_t flow;
  if (free_flows_.empty()) {
    flow = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    flow = free_flows_.back();
    free_flows_.pop_back();
  }
  flows_[flow].path.assign(path.begin(), path.end());
  arrivals_.push_back(flow);
  ++active_;
  return flow;
}

void FluidLevels::finish(std::uint32_t flow) {
  Flow& f = flows_[flow];
  const std::uint32_t from = f.bottleneck;
  const double floor = paid(from);
  detach(flow);
  set_gauge(from);
  for (const Use& use : f.path) consider(use.row, floor);
  f.path.clear();
  free_flows_.push_back(flow);
  --active_;
}

void FluidLevels::forget_changes() {
  for (const std::uint32_t row : changed_rows_) rows_[row].changed = false;
  changed_rows_.clear();
  moved_flows_.clear();
}

/// What R may be off before it counts.
double FluidLevels::slack(const Row& row, double level) const {
  return tolerance_ * row.weight * level + rounding * row.capacity;
}

void FluidLevels::sum_taken(std::uint32_t row) {
  const PairList& in = rows_[row].in;
  double taken = 0;
  for (std::size_t i = 0; i < in.size(); ++i) taken += in.shared()[i].weight * paid(in.rows()[i]);
  gauges_[row].taken = taken;
}

void FluidLevels::sum_weight(std::uint32_t row) {
  double weight = 0;
  for (const std::uint32_t flow : rows_[row].members)
    for (const Use& use : flows_[flow].path)
      if (use.row == row) weight += use.weight;
  rows_[row].weight = weight;
}

void FluidLevels::set_gauge(std::uint32_t row) {
  const Row& r = rows_[row];
  Gauge& g = gauges_[row];
  const bool has_level = g.level < unbounded;
  const bool has_members = !r.members.empty();
  if (queue_.holds(row)) {
    g.low = -unbounded, g.high = unbounded;
  } else if (has_level && has_members) {
    const double rest = r.capacity - r.weight * g.level;
    const double margin = slack(r, g.level);
    g.low = rest - margin, g.high = rest + margin;
  } else if (!has_level && !has_members) {
    g.low = -unbounded, g.high = r.capacity * full_;
  } else {
    g.low = unbounded, g.high = -unbounded;
  }
}

void FluidLevels::attach(std::uint32_t flow, std::uint32_t to) {
  Flow& f = flows_[flow];
  Row& row = rows_[to];
  f.bottleneck = to;
  f.place = static_cast<std::uint32_t>(row.members.size());
  row.members.push_back(flow);
  const double level = paid(to);
  for (const Use& use : f.path) {
    if (use.row == to) {
      row.weight += use.weight;
    } else {
      gauges_[use.row].taken += use.weight * level;
      row.out.add(use.row, use.weight);
      rows_[use.row].in.add(to, use.weight);
    }
  }
}

void FluidLevels::detach(std::uint32_t flow) {
  Flow& f = flows_[flow];
  const std::uint32_t from = f.bottleneck;
  Row& row = rows_[from];
  f.bottleneck = nowhere;
  flows_[row.members.back()].place = f.place;
  row.members[f.place] = row.members.back();
  row.members.pop_back();
  const double level = paid(from);
  for (const Use& use : f.path) {
    if (use.row == from) {
      row.weight -= use.weight;
      if (row.members.empty() || row.weight < cancelled * use.weight) sum_weight(from);
    } else {
      gauges_[use.row].taken -= use.weight * level;
      row.out.drop(use.row, use.weight);
      rows_[use.row].in.drop(from, use.weight);
    }
  }
}

void FluidLevels::move(std::uint32_t flow, std::uint32_t to) {
  const std::uint32_t from = flows_[flow].bottleneck;
  const double floor = std::min(paid(from), paid(to));
  detach(flow);
  attach(flow, to);
  set_gauge(from), set_gauge(to);
  for (const Use& use : flows_[flow].path) consider(use.row, floor);
  moved_flows_.push_back(flow);
}

}  // namespace fabricast
