// Pods of leaves and spines that optical circuit switches (OCS) join without a tier of packet switches above, as in
// Jupiter [Poutievski2022] and between the cubes of TPU pods [Jouppi2023].
//
// A circuit switch holds a fixed matching of its ports for the whole scenario, so to packets it is a piece of a cable: no
// queue, and no latency but that of its fibers. Pods stand on the points of `pods`. `matching: mesh` joins every pod to
// all others along each dimension, so one dimension is Jupiter's full mesh. `torus` joins each to the next and the last.
// Spine i of a pod is joined to spine i of the other, by `cables`. So the spines of one number form a plane of their own,
// and only leaves join planes.
//
// Every link has length 1. With d the distance of the pods in their lattice,
//
//   leaf to leaf   2 + d  (another pod),  2  (the same one)         leaf to spine   1 + d
//   spine to spine     d  (the same number),  d + 2  (another)                                                      (1)
//
// Minimal paths go over pods in between only where the matching has no direct cable. Over one more pod: `routing: {kind:
// ugal}` or valiant. They pass a leaf there, while Jupiter's transit traffic turns at a spine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lattice.hpp"

namespace fabricast {

enum class OcsMatching { mesh, torus };
template <>
struct EnumNames<OcsMatching> {
  static constexpr std::array<std::string_view, 2> names{"mesh", "torus"};
};

struct OcsSpec : DirectBasics {
  std::vector<int> pods{4};
  OcsMatching matching = OcsMatching::mesh;
  int leaves_per_pod = 4;
  int spines_per_pod = 4;
  int local_links = 1;
  int cables = 1;
  Metres ocs_cable{100};
};

void visit_fields(FieldVisitor& visit, OcsSpec& spec) {
  visit_direct(visit, spec);
  visit("pods", spec.pods, "pods along each dimension", between(1, 65535));
  visit("matching", spec.matching,
        "which pods have cables over optical circuit switches: mesh: all along each dimension; torus: the next ones");
  visit("leaves_per_pod", spec.leaves_per_pod, "leaves of a pod; NICs connect to leaves", between(1, 1024));
  visit("spines_per_pod", spec.spines_per_pod, "spines of a pod, each connected to every leaf of it", between(1, 1024));
  visit("local_links", spec.local_links, "parallel cables between a leaf and a spine of its pod", between(1, 64));
  visit("cables", spec.cables, "cables between two spines of equal number in two pods that are joined",
        between(1, 1024));
  visit("ocs_cable", spec.ocs_cable, "length of a cable between pods, over its optical switch", between(0, 1e5));
}

namespace {

/// Leaves are numbered first, pod by pod, then spines.
class PodDistances final : public Distances {
 public:
  PodDistances(const Lattice& pods, Apart apart, OcsMatching matching, std::uint32_t leaves, std::uint32_t spines)
      : pods_(pods), apart_(apart), matching_(matching), leaves_(leaves), spines_(spines) {}

  std::string text() const override {
    return fmt::format("ocs {} {} {} {}", fmt::join(pods_.sizes(), " "), name_of(matching_), leaves_, spines_);
  }
  std::uint32_t group_of(std::uint32_t at) const override {
    return is_leaf(at) ? at / leaves_ : (at - first_spine()) / spines_;
  }
  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    if (from == to) return 0;
    std::uint32_t between = 0;
    for (std::size_t d = 0; d < pods_.sizes().size(); ++d)
      between += apart_(pods_.coordinate(group_of(from), d), pods_.coordinate(group_of(to), d), pods_.sizes()[d]);
    if (is_leaf(from) != is_leaf(to)) return between + 1;
    const bool plane = !is_leaf(from) && (from - first_spine()) % spines_ == (to - first_spine()) % spines_;
    return plane ? between : between + 2;
  }

 private:
  std::uint32_t first_spine() const { return pods_.points() * leaves_; }
  bool is_leaf(std::uint32_t at) const { return at < first_spine(); }
  Lattice pods_;
  Apart apart_;
  OcsMatching matching_;
  std::uint32_t leaves_, spines_;
};

}  // namespace

Fabric build(const OcsSpec& spec, const FabricDemand& demand) {
  const auto leaves = static_cast<std::uint32_t>(spec.leaves_per_pod),
             spines = static_cast<std::uint32_t>(spec.spines_per_pod),
             local = static_cast<std::uint32_t>(spec.local_links), cables = static_cast<std::uint32_t>(spec.cables);
  const bool mesh = spec.matching == OcsMatching::mesh;
  const Lattice pods = lattice_of(spec.pods, "fabric.pods");
  const Attachment at = attach(spec, demand, pods.points() * leaves);
  require_ports(spec, "a leaf", nic_ports(spec, at) + std::uint64_t{spines} * local);
  std::uint64_t joined = 0;
  for (const std::uint32_t size : pods.sizes()) joined += mesh ? neighbours_in_mesh(size) : neighbours_in_ring(size);
  require_ports(spec, "a spine", std::uint64_t{leaves} * local + joined * cables);

  FabricBuilder builder = begin_direct(spec, demand, at, pods.points() * leaves, pods.points() * spines);
  const std::uint32_t leaf0 = demand.nodes * demand.ports_per_node, spine0 = leaf0 + pods.points() * leaves;
  const LinkClass near = between_switches(spec, demand, spec.cable),
                  far = between_switches(spec, demand, spec.ocs_cable);
  for (std::uint32_t leaf = 0; leaf < pods.points() * leaves; ++leaf)
    for (std::uint32_t s = 0; s < spines; ++s)
      for (std::uint32_t c = 0; c < local; ++c)
        builder.add_cable(VertexId(leaf0 + leaf), VertexId(spine0 + leaf / leaves * spines + s), near, near);
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    for (std::uint32_t s = 0; s < spines; ++s)
      for (std::uint32_t c = 0; c < cables; ++c)
        builder.add_cable(VertexId(spine0 + a * spines + s), VertexId(spine0 + b * spines + s), far, far);
  };
  if (mesh)
    for_each_in_meshes(pods, join);
  else
    for_each_in_rings(pods, join);
  builder.set_metric(
      std::make_shared<PodDistances>(pods, mesh ? apart_in_mesh : apart_in_ring, spec.matching, leaves, spines));
  return std::move(builder).build();
}

Topology ocs() {
  return make_topology<OcsSpec>("ocs", "pods of leaves and spines that optical circuit switches join directly",
                                "[Poutievski2022]");
}

}  // namespace fabricast
