// Static routing by destination, as OpenSM's fat-tree engine fills the forwarding tables of InfiniBand: d-mod-k
// [Zahavi2010]. The position of the destination NIC under its leaf selects the spine and the cable to it. Its leaf
// selects the core and the cable to it. The same holds on the way down. Two NICs of a leaf do not share a downlink as
// long as the leaf has at least as many up cables as NICs. Permutations that follow the order are free of contention.
#include "router.hpp"

namespace fabricast {

struct StaticSpec {};
void visit_fields(FieldVisitor&, StaticSpec&) {}
Samples samples(const StaticSpec&) { return {}; }

namespace {
class StaticChooser {
 public:
  struct Key {
    std::uint32_t position, leaf;
  };
  /// In a fabric from a file, the number of the destination replaces both the position and the leaf.
  explicit StaticChooser(const Fabric& fabric)
      : clos_(fabric.clos() ? *fabric.clos() : Clos{}), has_clos_(fabric.clos()) {}
  // On rails the NICs of a node are on different leaves, so the position counts nodes; otherwise it counts all ports
  // below the leaf.
  Key key(const Flow& flow) const {
    if (!has_clos_) return {flow.to, flow.to};
    const std::uint32_t node = flow.to / clos_.ports_per_node, port = flow.to % clos_.ports_per_node;
    return {node % clos_.nodes_per_block * (clos_.ports_per_node / clos_.rails) + port / clos_.rails,
            clos_.leaf_of(flow.to)};
  }
  /// The leaf selects cables between spines and cores, up (1) and down (2). The position selects the others.
  std::uint32_t pick(Key key, std::uint32_t, int tier, std::uint32_t choices) const {
    return (tier == 1 || tier == 2 ? key.leaf : key.position) % choices;
  }

 private:
  Clos clos_;
  bool has_clos_;
};
}  // namespace

std::unique_ptr<Router> make_router(const StaticSpec&, const Fabric& fabric, const LinkState& state, std::uint64_t) {
  return make_choosing_router(fabric, state, StaticChooser(fabric));
}

RoutingPolicy static_routing() {
  return make_routing_policy<StaticSpec>("static", "forwarding tables by destination (d-mod-k), as OpenSM fills them",
                                         "[Zahavi2010]");
}

}  // namespace fabricast
