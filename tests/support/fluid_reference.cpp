#include "fluid_reference.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

FlowId FluidReference::start(double bytes, std::span<const FluidUse> path, double weight, double cap) {
  active_.push_back(static_cast<std::uint32_t>(flows_.size()));
  flows_.push_back({bytes, {path.begin(), path.end()}, weight, cap});
  return FlowId(active_.back());
}

double FluidReference::stop(FlowId flow) {
  active_.erase(std::find(active_.begin(), active_.end(), flow.value));
  return flows_[flow.value].left;
}

Sharing FluidReference::share() const {
  SharingProblem problem;
  problem.capacity = capacity_;
  problem.first.push_back(0);
  for (const std::uint32_t id : active_) {
    const Flow& flow = flows_[id];
    for (const FluidUse& use : flow.path) problem.link.push_back(use.link), problem.use.push_back(use.multiplicity);
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    problem.weight.push_back(flow.weight);
    problem.cap.push_back(flow.cap);
  }
  return fill(problem);
}

std::optional<FluidEvent> FluidReference::advance(double until) {
  if (ended_.empty()) {
    const Sharing sharing = share();
    double wait = std::numeric_limits<double>::infinity();
    const auto need = [&](std::size_t i) {
      const Flow& flow = flows_[active_[i]];
      return flow.left > 0 ? flow.left / (flow.weight * sharing.level[i]) : 0;
    };
    for (std::size_t i = 0; i < active_.size(); ++i) wait = std::min(wait, need(i));
    const bool ends = std::isfinite(wait) && now_ + wait <= until;
    const double then = ends ? now_ + wait : std::isfinite(until) ? until : now_;
    std::vector<std::uint32_t> remain;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      Flow& flow = flows_[active_[i]];
      if (ends && now_ + need(i) <= then * (1 + 1e-12)) {
        ended_.push_back({then, FlowId(active_[i]), sharing.bottleneck[i]});
      } else {
        flow.left -= (then - now_) * flow.weight * sharing.level[i];
        remain.push_back(active_[i]);
      }
    }
    active_ = std::move(remain);
    now_ = then;
    std::reverse(ended_.begin(), ended_.end());
  }
  if (ended_.empty()) return std::nullopt;
  const FluidEvent event = ended_.back();
  ended_.pop_back();
  return event;
}

}  // namespace fabricast
