// The bound engine: every transfer has its path and its proxy thread to itself.
//
//   m_lc = min( 1, connections of channel c on link l ),  0 for all other channels
//   r_c  = min( copy rate, min over l with m_lc > 0 of C_l / w )
//   T    = max over c of T_c(r_c)                                                                                   (1)
//
// T_c is the flow engine's time of a channel (time/channel_time.hpp), C_l is in B/s, and w is bytes on the wire per
// byte of payload. No schedule of these transfers should be faster, so the bound shows how far a forecast is from the
// ideal. Both engines use the same T_c, so an error of T_c does not show in the comparison.
#include <algorithm>

#include "../count/router_under_load.hpp"
#include "../time/channel_time.hpp"
#include "fabricast/engine/engine.hpp"

namespace fabricast {

namespace {

class BoundEngine final : public NetworkEngine {
 public:
  BoundEngine(const NetworkSetup& setup, std::uint64_t seed) : setup_(setup), segment_(setup.segments.front()) {
    segment_.contended = 1;  // each connection is alone
    if (setup.comm->nodes() > 1)
      router_ = setup.policy->make(*setup.policy_spec, *setup.fabric, setup.segments.front().links, seed);
  }

  CollectiveResult run(const Plan& asked) override {
    const Communicator& comm = *setup_.comm;
    ProtocolCosts costs = protocol_costs(comm, asked);
    const Plan plan = plan_of_streams(asked);
    // Only sends cost time, and the threads that copy up and down in a block do not slow each other down.
    costs.visits = costs.sends;
    costs.both_directions = 2;
    InsidePaths paths(comm);
    // Detours by load may be faster than a minimal path alone.
    const std::unique_ptr<Router> own =
        router_ ? router_under_load(comm, plan, *setup_.fabric, *router_, segment_) : nullptr;
    Loads loads = count_loads(comm, plan, setup_.fabric, own ? own.get() : router_.get(), segment_, paths);
    loads.alone = true;
    // At most one connection per link. A connection that is spread over several links stays a fraction on each.
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
      double rate = costs.most_rate(plan).value;
      for (const LinkGroup& g : loads.groups)
        if (const double n = g.connections[static_cast<std::size_t>(c)]; n > 0)
          rate = std::min(rate, g.capacity / (costs.wire * n));
      const ChannelView view{comm, plan, costs, loads, alone, c, rate, rate < costs.most_rate(plan).value};
      ChannelTime t = time_channel(view);
      if (t.makespan <= result.makespan.value) continue;
      split_time(view, t);
      result.makespan = Seconds{t.makespan};
      result.work = Seconds{t.work};
      result.latency = Seconds{t.latency};
      result.transfer = Seconds{t.transfer};
      result.fill = result.makespan - result.latency - result.transfer;
    }
    return result;
  }

 private:
  const NetworkSetup& setup_;
  NetworkSegment segment_;
  std::unique_ptr<Router> router_;
};

}  // namespace

std::unique_ptr<NetworkEngine> make_bound_engine(const NetworkSetup& setup, std::uint64_t seed) {
  return std::make_unique<BoundEngine>(setup, seed);
}

}  // namespace fabricast
