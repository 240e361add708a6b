// The load of each link over a call, from the counts of the flow engine (engine/link_load.hpp):
//
//   load(l) = sum over channels c of  m_lc w / C_l  x  bytes_c / T                                                  (1)
//
// bytes_c is the payload of one connection of c, all its slices together; T is the makespan. Forecasts keep no table of
// links, so the groups are unfolded here, for one seed and one size. A bundle of links is counted as one resource, and
// its load is distributed over its members at the end.
#include "fabricast/engine/link_load.hpp"

#include <algorithm>
#include <limits>

#include "fabricast/engine/group_time.hpp"

namespace fabricast {

namespace {

/// Distributes the load of a bundle over its links.
void spread(const Fabric& fabric, const Router& router, const LinkState& state, const Router::Bundle& bundle,
            double load, std::vector<float>& loads) {
  // With equal shares, slow links are loaded more. With shares in proportion to the rates, all are loaded alike.
  double all = 0, least = std::numeric_limits<double>::infinity();
  const auto rate = [&](std::uint32_t link) { return capacity(fabric, router, state, link).value; };
  std::uint32_t up = 0;
  for (std::uint32_t i = 0; i < bundle.count; ++i) {
    const double own = rate(bundle.first + 2 * i);
    if (own <= 0) continue;
    all += own;
    least = std::min(least, own);
    ++up;
  }
  if (up == 0) return;
  const double carried = load * (router.even() ? least * up : all);
  for (std::uint32_t i = 0; i < bundle.count; ++i) {
    const std::uint32_t link = bundle.first + 2 * i;
    if (const double own = rate(link); own > 0)
      loads[link] += static_cast<float>(router.even() ? carried / up / own : carried / all);
  }
}

}  // namespace

LinkLoads link_loads(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed) {
  LinkLoads found;
  if (!setup.fabric || setup.comm->nodes() == 1) return found;
  const LinkState& state = setup.segments.front().links;
  const auto router = setup.policy->make(*setup.policy_spec, *setup.fabric, state, seed);
  const GroupTime time = time_group(setup, plan, seed, router.get());
  found.makespan = time.result.makespan;
  const std::uint32_t links = setup.fabric->links();
  std::vector<double> load(links + router->bundles(), 0);
  std::vector<double> bytes;
  for (const ChannelPace& channel : time.channels) bytes.push_back(static_cast<double>(channel.payload().value));
  const double makespan = found.makespan.value;
  const FabricConnections crossing(setup, *router, plan, time.crossed);
  const double wire = wire_bytes(setup, plan);
  crossing.for_each([&](std::uint32_t resource, std::uint32_t kind) {
    const double rate = resource_rate(setup, *router, resource).value;
    for (const auto& [channel, connections] : crossing.of(kind))
      load[resource] += connections * wire / rate * bytes[channel] / makespan;
  });
  found.load.assign(load.begin(), load.begin() + links);
  for (std::uint32_t b = 0; b < router->bundles(); ++b)
    if (load[links + b] > 0) spread(*setup.fabric, *router, state, router->bundle(b), load[links + b], found.load);
  return found;
}

}  // namespace fabricast
