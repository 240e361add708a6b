// One path over all planes (planes.hpp).
#include "planes.hpp"

#include <algorithm>

#include "router.hpp"

namespace fabricast {

namespace {

class PlaneRouter final : public Router {
 public:
  PlaneRouter(const PlaneDistances& planes, const LinkState& state, std::unique_ptr<Router> inside)
      : planes_(planes), whole_(!state.any_down()), inside_(std::move(inside)) {}

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    if (flow.from == flow.to) return true;
    if (planes_.choice() == PlaneChoice::queue_pair) return over_one(flow, path);
    std::uint32_t alive = 0;
    Path in_plane;
    for (std::uint32_t p = 0; p < planes_.planes(); ++p) {
      if (!inside_->route(in(flow, p), in_plane)) continue;
      ++alive;
      for (std::size_t i = 0; i < in_plane.resources.size(); ++i) {
        path.resources.push_back(in_plane.resources[i]);
        path.weights.push_back(in_plane.weight(i));
      }
      // A message is complete when its slowest part is.
      path.latency = std::max(path.latency, in_plane.latency);
    }
    for (double& weight : path.weights) weight /= alive;
    return alive > 0;
  }

  // All planes carry equal parts of a flow only if it has a path in each.
  Parting parting() const override {
    return whole_ && planes_.choice() == PlaneChoice::packet ? inside_->parting() : Parting::one_by_one;
  }
  void part_pairs(std::span<const SwitchFlows> pairs, std::uint64_t stream,
                  const std::function<void(std::uint32_t, double)>& add) const override {
    std::vector<SwitchFlows> own(pairs.begin(), pairs.end());
    const std::uint32_t planes = planes_.planes();
    for (std::uint32_t p = 0; p < planes; ++p) {
      inside_->part_pairs(own, stream * planes + p,
                          [&](std::uint32_t link, double flows) { add(link, flows / planes); });
      for (SwitchFlows& pair : own) {
        pair.from += planes_.leaves();
        pair.to += planes_.leaves();
      }
    }
  }

 private:
  /// The same flow between the ports of a plane.
  Flow in(Flow flow, std::uint32_t plane) const {
    flow.from += plane * planes_.nics();
    flow.to += plane * planes_.nics();
    return flow;
  }
  /// The next plane is tried if there is no path in the first one.
  bool over_one(const Flow& flow, Path& path) const {
    const std::uint32_t first = pick_of(flow_key(0, flow), planes_.planes());
    for (std::uint32_t p = 0; p < planes_.planes(); ++p)
      if (inside_->route(in(flow, (first + p) % planes_.planes()), path)) return true;
    return false;
  }

  const PlaneDistances& planes_;
  bool whole_;  ///< whether no link is down
  std::unique_ptr<Router> inside_;
};

}  // namespace

std::unique_ptr<Router> make_plane_router(const PlaneDistances& planes, const LinkState& state,
                                          std::unique_ptr<Router> inside) {
  return std::make_unique<PlaneRouter>(planes, state, std::move(inside));
}

}  // namespace fabricast
