// Valiant's routing with a choice by packet (detours.hpp).
//
// Let q be the part that takes detours and k the number of switches that suit. On each link, a flow has the share
//
//   (1 - q) minimal(from, to)  +  q / k x sum over these switches v of  minimal(from, v) + minimal(v, to)          (1)
//
// where minimal(a, b) are the shares if equal parts take each next hop (spray). So the paths are those of another
// router, from NIC port to NIC port, without the ports in between. Any port of v serves, so what is dead at NIC ports
// is hidden from that router.
//
// With `ugal`, q is that of a pair of switches (detours_by_load.cpp).
#include <algorithm>
#include <cmath>
#include <map>

#include "detours.hpp"

namespace fabricast {

namespace {

class DetourSpreader final : public Router {
 public:
  DetourSpreader(const Fabric& fabric, const LinkState& state, DetourParts parts, bool by_load)
      : paths_(fabric, state),
        detours_(paths_),
        parts_(std::move(parts)),
        by_load_(by_load),
        port_of_(fabric.switches(), 0) {
    for (const auto& [link, factor] : state.factors()) {
      const auto [from, to] = fabric.link(LinkId(link));
      if (std::min(from.value, to.value) >= fabric.endpoints()) between_switches_.set(LinkId(link), factor);
    }
    for (std::uint32_t e = 0; e < fabric.endpoints(); ++e)
      if (paths_.port(e).at != GraphPaths::none) port_of_[paths_.port(e).at] = e;
    minimal_ = make_spreading_router(fabric, between_switches_, true);
  }

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    if (flow.from == flow.to) return true;
    const GraphPaths::Port &from = paths_.port(flow.from), &to = paths_.port(flow.to);
    if (!paths_.usable(from.up) || !paths_.usable(to.down)) return false;
    const std::vector<std::uint32_t> over = between(from.at, to.at);
    const double detour = over.empty() ? 0 : parts_.of(from.at, to.at);
    std::map<std::uint32_t, double> shares;  // ascending, so that sums and paths do not depend on anything else
    if (detour < 1) {
      if (!add(flow.from, flow.to, 1 - detour, shares, path.latency)) return false;
    }
    if (detour > 0)
      for (const std::uint32_t v : over) {
        const double part = detour / static_cast<double>(over.size());
        const std::uint32_t port = port_of_[v];
        Seconds there, back;
        if (!add(flow.from, port, part, shares, there) || !add(port, flow.to, part, shares, back)) return false;
        // A message is complete when its slowest part is. Nothing crosses the port of v.
        const Seconds turn = paths_.latency(paths_.port(port).down) + paths_.latency(paths_.port(port).up);
        path.latency = std::max(path.latency, there + back - turn);
      }
    const auto take = [&](std::uint32_t link, double share) {
      path.resources.push_back(link);
      path.weights.push_back(share);
    };
    take(from.up, 1);
    for (const auto& [link, share] : shares) take(link, share);
    take(to.down, 1);
    return true;
  }
  bool settled(std::uint32_t, std::uint32_t) const override { return true; }
  bool direct(std::uint32_t from, std::uint32_t to) const override { return paths_.direct(from, to); }
  bool even() const override { return true; }
  // ends_at_ports() stays false, as for other flows that are spread over links: counts that rely on it count whole flows.
  Parting parting() const override { return paths_.ends_at_ports() ? Parting::evenly : Parting::one_by_one; }
  bool follows_load() const override { return by_load_; }
  std::unique_ptr<Router> under_load(std::span<const SwitchFlows> pairs, double port) const override {
    std::optional<DetourParts> parts =
        by_load_ ? detours_by_load(paths_, detours_, pairs, port) : std::optional<DetourParts>();
    if (!parts) return nullptr;
    return make_detour_spreader(paths_.fabric(), paths_.state(), std::move(*parts), true);
  }

  void part_pairs(std::span<const SwitchFlows> pairs, std::uint64_t stream,
                  const std::function<void(std::uint32_t, double)>& add_to) const override {
    const std::uint32_t n = paths_.switches();
    std::vector<double> halves(std::size_t{n} * n, 0);  // by second end, then by first
    for (const SwitchFlows& pair : pairs) {
      const std::vector<std::uint32_t> over = between(pair.from, pair.to);
      const double detour = over.empty() ? 0 : parts_.of(pair.from, pair.to), flows = static_cast<double>(pair.flows);
      halves[std::size_t{pair.to} * n + pair.from] += flows * (1 - detour);
      for (const std::uint32_t v : over) {
        const double part = flows * detour / static_cast<double>(over.size());
        halves[std::size_t{v} * n + pair.from] += part;
        halves[std::size_t{pair.to} * n + v] += part;
      }
    }
    // The other router takes whole flows, and is linear in them.
    constexpr double whole = 0x1p24;
    std::vector<SwitchFlows> list;
    for (std::size_t i = 0; i < halves.size(); ++i)
      if (const auto flows = static_cast<std::uint64_t>(std::llround(halves[i] * whole)); flows > 0)
        list.push_back({static_cast<std::uint32_t>(i % n), static_cast<std::uint32_t>(i / n), flows});
    minimal_->part_pairs(list, stream, [&](std::uint32_t link, double flows) { add_to(link, flows / whole); });
  }

 private:
  std::vector<std::uint32_t> between(std::uint32_t from, std::uint32_t to) const {
    std::vector<std::uint32_t> over;
    for (const std::uint32_t v : detours_.among(from, to))
      if (detours_.suits(from, v, to)) over.push_back(v);
    return over;
  }
  /// Adds what the links between the switches of two ports carry.
  bool add(std::uint32_t from, std::uint32_t to, double part, std::map<std::uint32_t, double>& shares,
           Seconds& latency) const {
    Path path;
    if (!minimal_->route({from, to, 0, 0}, path)) return false;
    for (std::size_t i = 1; i + 1 < path.resources.size(); ++i) shares[path.resources[i]] += part * path.weight(i);
    latency = path.latency;
    return true;
  }

  GraphPaths paths_;
  Detours detours_;
  DetourParts parts_;
  bool by_load_;
  std::vector<std::uint32_t> port_of_;  ///< by switch: one of its NIC ports
  LinkState between_switches_;          ///< without what is dead at NIC ports
  std::unique_ptr<Router> minimal_;
};

}  // namespace

std::unique_ptr<Router> make_detour_spreader(const Fabric& fabric, const LinkState& state, DetourParts parts,
                                             bool by_load) {
  return std::make_unique<DetourSpreader>(fabric, state, std::move(parts), by_load);
}

}  // namespace fabricast
