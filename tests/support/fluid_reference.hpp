// The oracle of the flow engine: everything filled anew at each event, and the bytes left of each flow in plain sight.
// It shares nothing with FluidNetwork but fill(), which has tests of its own.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fabricast/fluid/fluid.hpp"

namespace fabricast {

/// As FluidNetwork; slow.
class FluidReference {
 public:
  explicit FluidReference(std::vector<double> capacities) : capacity_(std::move(capacities)) {}

  FlowId start(double bytes, std::span<const FluidUse> path, double weight = 1,
               double cap = std::numeric_limits<double>::infinity());
  double stop(FlowId flow);
  void set_capacity(std::uint32_t link, double rate) { capacity_[link] = rate; }
  std::optional<FluidEvent> advance(double until = std::numeric_limits<double>::infinity());
  double now() const { return now_; }
  std::size_t active() const { return active_.size(); }

 private:
  struct Flow {
    double left = 0;
    std::vector<FluidUse> path;
    double weight = 1, cap = 0;
  };
  Sharing share() const;

  std::vector<double> capacity_;
  std::vector<Flow> flows_;            ///< by id
  std::vector<std::uint32_t> active_;  ///< ids
  std::vector<FluidEvent> ended_;
  double now_ = 0;
};

}  // namespace fabricast
