// The most overloaded port of switches during a call (engine/loss.hpp).
//
//     s(c)   = min over ports p by which hosts send, with connections of c, of  C_p / sum over channels of m_p         (1)
//     rho(l) = sum over c of  m_lc s(c)  /  C_l      on links that switches send on
//
// m are connections of channels on links, C rates of links. With rho at most 1 a link carries all that comes.
#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "fabricast/engine/group_time.hpp"
#include "fabricast/engine/loss.hpp"

namespace fabricast {

namespace {

/// Rounding does not make an overload.
constexpr double overloaded = 1 + 1e-6;

/// Whether a host sends on a resource. Bundles connect switches.
bool leaves_host(const Fabric& fabric, std::uint32_t resource) {
  return resource < fabric.links() && fabric.is_endpoint(fabric.link(LinkId(resource)).from);
}

}  // namespace

Overload overload_of(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed) {
  Overload worst;
  if (!setup.fabric || setup.comm->nodes() < 2) return worst;
  const Fabric& fabric = *setup.fabric;
  const auto router = setup.policy->make(*setup.policy_spec, fabric, setup.segments.front().links, seed);
  const FabricConnections crossing(setup, *router, plan, nullptr);
  std::vector<double> sends;
  const auto add_up = [](auto connections) {
    double sum = 0;
    for (const FabricConnections::OfChannel& c : connections) sum += c.connections;
    return sum;
  };
  // Kinds of links may be of both ends, so the first pass goes over links.
  crossing.for_each([&](std::uint32_t resource, std::uint32_t kind) {
    if (!leaves_host(fabric, resource)) return;
    const double each = resource_rate(setup, *router, resource).value / add_up(crossing.of(kind));
    for (const auto& [channel, connections] : crossing.of(kind)) {
      if (channel >= sends.size()) sends.resize(channel + 1, std::numeric_limits<double>::infinity());
      sends[channel] = std::min(sends[channel], each);
    }
  });
  std::map<std::uint32_t, std::uint32_t> ports;  // overloaded ones, by the switch that sends on them
  std::uint32_t at = 0;
  crossing.for_each([&](std::uint32_t resource, std::uint32_t kind) {
    if (leaves_host(fabric, resource)) return;
    const BytesPerSecond rate = resource_rate(setup, *router, resource);
    double offered = 0;
    for (const auto& [channel, connections] : crossing.of(kind))
      if (channel < sends.size()) offered += connections * sends[channel];
    const double ratio = offered / rate.value;
    if (!(ratio > overloaded)) return;
    const std::uint32_t from = resource < fabric.links() ? fabric.link(LinkId(resource)).from.value : resource;
    ++ports[from];
    if (ratio <= worst.ratio) return;
    worst = {ratio, add_up(crossing.of(kind)), 1, rate};
    at = from;
  });
  if (worst.ratio > 1) worst.ports = ports[at];
  return worst;
}

}  // namespace fabricast
