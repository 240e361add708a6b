// The switch network: an immutable directed graph of NIC ports, switches and links.
//
// Vertices are the endpoints (NIC ports: node * ports + port), followed by the switches, tier by tier. Links come in
// pairs, one for each direction of a cable: link 2k runs up, from the vertex nearer to the nodes, and link 2k + 1 runs
// back. A link is stored as its source and a class of rate and latency, so a million GPUs take about 60 MB. Names are
// computed and not stored, except in fabrics read from a file. Functions of one vertex or link take constant time
// unless they say otherwise; those that look for a name read all links.
//
//   const LinkId up = fabric.find_links("leaf0-spine1").front();
//   const Seconds wire = fabric.link_class(up).latency;            // rate and latency of one direction
//   const LinkId down = Fabric::reverse(up);
//
//
// Invariants: every link connects two existing vertices; links 2k and 2k + 1 have swapped ends; numbers are dense and
// depend on the specification only. A Fabric built as a Clos network also has the arithmetic of clos.hpp, and its link
// numbers agree with it (tested).
//
// A Fabric does not change after it is built, so it is safe to use concurrently. Functions do not check numbers of
// vertices and links.
//
// Not modelled here: the inside of nodes (node_graph.hpp), and sharing of links, which the engines compute.
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
#include "fabricast/fabric/metric.hpp"
#include "fabricast/fabric/subnet.hpp"

namespace fabricast {

/// Tier of a switch; NICs connect to leaves. Switches of fabrics without tiers, such as a torus, are all leaves.
enum class Tier { leaf, spine, core };
template <>
struct EnumNames<Tier> {
  static constexpr std::array<std::string_view, 3> names{"leaf", "spine", "core"};
};

/// The graph. FabricBuilder makes it.
class Fabric {
 public:
  /// The two ends of a directed link.
  struct Link {
    VertexId from, to;
  };

  // Counts. An endpoint is a NIC port, and a link is one direction of a cable.
  std::uint32_t nodes() const { return nodes_; }
  std::uint32_t ports_per_node() const { return ports_per_node_; }
  std::uint32_t endpoints() const { return nodes_ * ports_per_node_; }
  std::uint32_t switches() const { return static_cast<std::uint32_t>(tier_of_switch_.size()); }
  std::uint32_t vertices() const { return endpoints() + switches(); }
  std::uint32_t links() const { return static_cast<std::uint32_t>(class_of_.size()); }
  std::uint32_t cables() const { return links() / 2; }

  /// The vertex of a NIC port, and whether a vertex is one. In a fabric of several planes the ports of a node are
  /// numbered plane by plane (planes.hpp).
  VertexId endpoint(std::uint32_t node, std::uint32_t port) const { return VertexId(node * ports_per_node_ + port); }
  bool is_endpoint(VertexId v) const { return v.value < endpoints(); }
  /// \pre `v` is a switch
  Tier tier(VertexId v) const { return tier_of_switch_[v.value - endpoints()]; }
  /// The ends of a link. The source of a link is the target of its reverse.
  Link link(LinkId id) const { return {VertexId(ends_[id.value]), VertexId(ends_[id.value ^ 1U])}; }
  /// Rate and latency of a link, its class number, and all classes by number.
  const LinkClass& link_class(LinkId id) const { return classes_[class_of_[id.value]]; }
  std::uint8_t class_index(LinkId id) const { return class_of_[id.value]; }
  std::span<const LinkClass> classes() const { return classes_; }
  /// The other direction of the same cable.
  static LinkId reverse(LinkId id) { return LinkId(id.value ^ 1U); }

  /// The arithmetic of the Clos network; null for all other fabrics.
  const Clos* clos() const { return clos_ ? &*clos_ : nullptr; }

  /// The distances between switches by arithmetic; null for Clos networks and fabrics read from a file.
  const Distances* metric() const { return metric_.get(); }

  /// Whether two fabrics have the same vertices, links and minimal paths, so that counts of flows on links can be
  /// shared. Rates and latencies may differ. Clos networks are compared by their dimensions; others link by link, and
  /// links that are divided into classes differently count as different.
  bool connects_like(const Fabric& other) const;

  /// LIDs and port numbers; null unless the fabric is from a file that states them.
  const Subnet* subnet() const { return subnet_.get(); }

  /// `node3.nic2`, `leaf0`, `spine12`, `core3`, or the name in the file, such as `dgx03.mlx5_2`.
  std::string name(VertexId v) const;
  /// `node3`, or the name of the host in the file.
  std::string node_name(std::uint32_t node) const;
  /// `leaf0-spine1` for the link up and `spine1-leaf0` for the link down. Where several cables connect the two, `#i` is
  /// added, i from 0 in the order of link numbers.
  std::string name(LinkId id) const;
  /// The vertex with a name. `node3.nic2` is also valid in fabrics whose hosts have names.
  std::optional<VertexId> find_vertex(std::string_view name) const;
  /// The links that a name stands for, both directions of each cable: all cables between two vertices (`a-b`) or one of
  /// them (`a-b#i`), all cables of a vertex (`a`), all cables between switches (`uplinks`), or in a fabric of several
  /// planes all cables of one (`plane1`, those of NICs included). A vertex of a file that is called `uplinks` comes
  /// first.
  /// \returns an empty list if nothing has that name
  std::vector<LinkId> find_links(std::string_view name) const;

  /// The number of switches in a tier.
  std::uint32_t switches_in(Tier tier) const;
  /// The number of cables whose upper end is in a tier. In a Clos network those of the leaf tier are the cables of
  /// NICs; without tiers they include the cables between switches. Reads all links.
  std::uint32_t cables_below(Tier tier) const;

  /// The outgoing links of every vertex, ascending. Its construction takes a pass over all links; Clos networks do not
  /// need it.
  class Adjacency {
   public:
    /// Copies what it needs: `fabric` need not outlive it. 4 B per link and per vertex.
    explicit Adjacency(const Fabric& fabric);
    /// The links that leave a vertex.
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
  // Only for fabrics read from a file. Names of ports are listed by endpoint, without the name of the node.
  std::vector<std::string> switch_names_, node_names_, port_names_;
  std::shared_ptr<const Subnet> subnet_;
  std::vector<std::uint32_t> ends_;  ///< ends_[l] = source of link l
  std::vector<std::uint8_t> class_of_;
  std::vector<LinkClass> classes_;
  std::optional<Clos> clos_;
  std::shared_ptr<const Distances> metric_;
};

/// Builds a Fabric. Violations of preconditions and invariants are bugs of the caller: they throw InternalError.
///
///   FabricBuilder builder(2, 1);                                       // two nodes with a NIC port each
///   const VertexId leaf = builder.add_switch(Tier::leaf);
///   for (std::uint32_t e = 0; e < 2; ++e) builder.add_cable(VertexId(e), leaf, up, down);
///   const Fabric fabric = std::move(builder).build();
class FabricBuilder {
 public:
  /// The endpoints exist from the start; their cables are added as all others are.
  FabricBuilder(std::uint32_t nodes, std::uint32_t ports_per_node);
  /// Adds a switch and returns its vertex. Either all switches get names or none. Names must differ; this is not
  /// checked.
  /// \pre leaves are added before spines, and spines before cores
  VertexId add_switch(Tier tier, std::string name = {});
  /// Adds a cable, which is two links with the next free numbers. `lower` is the end nearer to the nodes. Cables
  /// between the same two vertices must be added one after the other, because names count them in this order.
  /// \pre the fabric has at most 256 different link classes
  void add_cable(VertexId lower, VertexId upper, const LinkClass& up, const LinkClass& down);
  /// Makes room, so that large fabrics are not copied while they grow.
  void reserve_cables(std::size_t cables);
  /// Sets the names of hosts, by node, and of their NIC ports, by endpoint.
  void name_nodes(std::vector<std::string> nodes, std::vector<std::string> ports);
  /// Sets the addresses that a file states. \pre one entry for each vertex and for each link, which `build` checks
  void set_subnet(Subnet subnet);
  /// Sets the arithmetic of minimal paths. \pre it describes this graph (metric.hpp has the contract); not checked
  void set_metric(std::shared_ptr<const Distances> metric);
  /// Checks the invariants and returns the fabric.
  Fabric build() &&;
  /// Classes of the two directions of a tier's cables. The link up has the latency of the upper device, the link down
  /// that of the lower one.
  struct TierClasses {
    LinkClass up, down;
  };
  /// All switches and cables of a Clos network, in the order of clos.hpp. Linear in the number of links, without
  /// looking up the class of each.
  /// \param tiers  classes of the cables below leaves, spines and cores
  static Fabric build_clos(const Clos& clos, std::uint32_t nodes, std::span<const TierClasses> tiers);

 private:
  std::uint8_t class_index(const LinkClass& link_class);
  Fabric fabric_;
};

}  // namespace fabricast
