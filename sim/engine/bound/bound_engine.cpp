// The bound: every transfer alone on its path, every proxy thread idle. No schedule of these transfers can be faster,
// so it tells how far from ideal a forecast is, and both other engines must stay above it.
#include <algorithm>

#include "../time/channel_time.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/engine/engine.hpp"

namespace fabricast {

namespace {

class BoundEngine final : public NetworkEngine {
 public:
  BoundEngine(const NetworkSetup& setup, std::uint64_t seed) : setup_(setup) {
    if (setup.comm->nodes() > 1)
      router_ = setup.policy->make(*setup.policy_spec, *setup.fabric, setup.segments.front().links, seed);
  }

  CollectiveResult run(const Plan& asked) override {
    const Communicator& comm = *setup_.comm;
    ProtocolCosts costs = protocol_costs(comm, asked);
    Plan plan = asked;
    if (find_by_algorithm(plan.algorithm)->one_stream) plan.channels = 1;
    costs.visits = costs.sends, costs.both_ways = 2;
    InsidePaths paths(comm);
    Loads loads = count_loads(comm, plan, setup_.fabric, router_.get(), setup_.segments.front(), paths);
    for (LinkGroup& g : loads.groups) {
      g.nics = std::min(g.nics, 1U);
      for (double& n : g.connections) n = std::min(n, 1.0);
    }
    CollectiveResult result;
    result.launch = costs.launch;
    result.bottleneck.name = "bound";
    for (int c = 0; c < plan.channels; ++c) {
      std::vector<double> alone(static_cast<std::size_t>(plan.channels), 0);
      alone[static_cast<std::size_t>(c)] = 1;
      double rate = costs.most_rate(plan);
      for (const LinkGroup& g : loads.groups)
        if (const double n = g.connections[static_cast<std::size_t>(c)]; n > 0)
          rate = std::min(rate, g.capacity / (costs.wire * n));
      const ChannelView view{comm, plan, costs, loads, alone, c, rate, rate < costs.most_rate(plan)};
      ChannelTime t = time_channel(view);
      if (t.makespan <= result.makespan) continue;
      split_time(view, t);
      result.makespan = t.makespan, result.work = t.work;
      result.latency = t.latency, result.transfer = t.transfer;
      result.fill = t.makespan - t.latency - t.transfer;
    }
    return result;
  }

 private:
  const NetworkSetup& setup_;
  std::unique_ptr<Router> router_;
};

}  // namespace

std::unique_ptr<NetworkEngine> make_bound_engine(const NetworkSetup& setup, std::uint64_t seed) {
  return std::make_unique<BoundEngine>(setup, seed);
}

}  // namespace fabricast
