// The switch network: an immutable directed graph of NIC ports, switches and links.
//
// Vertices are numbered endpoints first (node * ports + port), then switches by tier. Links come in pairs, one per
// direction of a cable: 2k runs from the vertex nearer to the nodes, 2k + 1 back. A link holds its two ends and a
// class; a million GPUs take about 60 MB. Names are computed, never stored, except in fabrics read from a file.
//
// Invariants: every link joins two existing vertices; link 2k and 2k + 1 have swapped ends; ids are dense and do not
// depend on anything but the spec. A Fabric built as a Clos network also carries the arithmetic (see clos.hpp), and
// its link numbering agrees with it (tested).
//
// Not modelled here: the inside of nodes (node_graph.hpp), and congestion, which is the engines' business.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/id.hpp"
#include "fabricast/fabric/clos.hpp"
#include "fabricast/fabric/link.hpp"
#include "fabricast/fabric/subnet.hpp"

namespace fabricast {

enum class Tier { leaf, spine, core };
template <>
struct EnumNames<Tier> {
  static constexpr std::array<std::string_view, 3> names{"leaf", "spine", "core"};
};

class Fabric {
 public:
  struct Link {
    VertexId from, to;
  };

  std::uint32_t nodes() const { return nodes_; }
  std::uint32_t ports_per_node() const { return ports_per_node_; }
  std::uint32_t endpoints() const { return nodes_ * ports_per_node_; }
  std::uint32_t switches() const { return static_cast<std::uint32_t>(tier_of_switch_.size()); }
  std::uint32_t vertices() const { return endpoints() + switches(); }
  std::uint32_t links() const { return static_cast<std::uint32_t>(class_of_.size()); }
  std::uint32_t cables() const { return links() / 2; }

  VertexId endpoint(std::uint32_t node, std::uint32_t port) const { return VertexId(node * ports_per_node_ + port); }
  bool is_endpoint(VertexId v) const { return v.value < endpoints(); }
  Tier tier(VertexId v) const { return tier_of_switch_[v.value - endpoints()]; }
  Link link(LinkId id) const { return {VertexId(ends_[id.value]), VertexId(ends_[id.value ^ 1U])}; }
  const LinkClass& link_class(LinkId id) const { return classes_[class_of_[id.value]]; }
  std::uint8_t class_index(LinkId id) const { return class_of_[id.value]; }
  std::span<const LinkClass> classes() const { return classes_; }
  static LinkId reverse(LinkId id) { return LinkId(id.value ^ 1U); }

  /// Null for fabrics read from a file.
  const Clos* clos() const { return clos_ ? &*clos_ : nullptr; }

  /// LIDs and port numbers, if the file that the fabric is from tells them; else null.
  const Subnet* subnet() const { return subnet_.get(); }

  /// `node3.nic2`, `leaf0`, `spine12`, `core3`, or the names given in a file: `dgx03.mlx5_2`.
  std::string name(VertexId v) const;
  /// `node3`, or the host's name in a file.
  std::string node_name(std::uint32_t node) const;
  /// `leaf0-spine1` for the way up and `spine1-leaf0` for the way down; `#i` is added where several cables join the
  /// two.
  std::string name(LinkId id) const;
  /// `node3.nic2` is understood in fabrics with names of their own, too.
  std::optional<VertexId> find_vertex(std::string_view name) const;
  /// All directed links named: a cable `a-b` or `a-b#i` (both directions), every cable of a vertex `a`, or with `uplinks`
  /// every cable between two switches.
  /// Empty if the name fits nothing.
  std::vector<LinkId> find_links(std::string_view name) const;

  /// Number of switches, and of cables that go up from a tier (endpoint cables are `cables_below(Tier::leaf)`).
  std::uint32_t switches_in(Tier tier) const;
  std::uint32_t cables_below(Tier tier) const;

  /// Outgoing links of a vertex in id order. Built on first use; not for the hot path of Clos networks.
  class Adjacency {
   public:
    explicit Adjacency(const Fabric& fabric);
    std::span<const LinkId> out(VertexId v) const {
      return {links_.data() + first_[v.value], links_.data() + first_[v.value + 1]};
    }

   private:
    std::vector<std::uint32_t> first_;
    std::vector<LinkId> links_;
  };

 private:
  friend class FabricBuilder;
  std::uint32_t nodes_ = 0, ports_per_node_ = 1;
  std::vector<Tier> tier_of_switch_;
  std::vector<std::uint32_t> first_of_tier_ = {0, 0, 0, 0};  ///< switches are sorted by tier
  // Only for fabrics read from a file:
  std::vector<std::string> switch_names_, node_names_, port_names_;  ///< of ports without their node's, by endpoint
  std::shared_ptr<const Subnet> subnet_;
  std::vector<std::uint32_t> ends_;  ///< ends_[l] = source of link l
  std::vector<std::uint8_t> class_of_;
  std::vector<LinkClass> classes_;
  std::optional<Clos> clos_;
};

/// Builds a Fabric; `build` checks the invariants.
class FabricBuilder {
 public:
  FabricBuilder(std::uint32_t nodes, std::uint32_t ports_per_node);
  /// Switches must be added leaf tier first, then spines, then cores.
  VertexId add_switch(Tier tier, std::string name = {});
  /// One cable, two links; `lower` is the end nearer to the nodes.
  void add_cable(VertexId lower, VertexId upper, const LinkClass& up, const LinkClass& down);
  void reserve_cables(std::size_t cables);
  /// Names of hosts by node, and of their NIC ports by endpoint.
  void name_nodes(std::vector<std::string> nodes, std::vector<std::string> ports);
  void set_subnet(Subnet subnet);
  Fabric build() &&;
  /// All switches and cables of a Clos network. `cable` has the class of every cable's two directions by tier:
  /// the way up is charged the upper device's latency, the way down the lower one's.
  struct TierClasses {
    LinkClass up, down;
  };
  static Fabric build_clos(const Clos& clos, std::uint32_t nodes, std::span<const TierClasses> tiers);

 private:
  std::uint8_t class_index(const LinkClass& link_class);
  Fabric fabric_;
};

}  // namespace fabricast
