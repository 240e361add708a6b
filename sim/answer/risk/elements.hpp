// The components of a fabric by kind and role.
//
// The role of a switch follows from the NIC ports of the job below it, counted along every path down. The role of a
// cable is that of its lower end. Ports that NCCL does not use are idle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/risk/risk.hpp"

namespace fabricast {

/// Components of one kind and one role.
struct ElementClass {
  Component component = Component::nic_cable;
  Role role = Role::full;
  std::vector<std::uint32_t> members;  ///< numbers of cables, vertices of switches, or numbers of rails
};

/// The elements of a world's fabric, in classes. Refers to the fabric, which must outlive it.
class Elements {
 public:
  /// \pre the world has a fabric
  explicit Elements(const World& world);
  /// The classes, sorted by component, then role. There is none for NICs: their cables stand for them.
  const std::vector<ElementClass>& classes() const { return classes_; }
  /// All links of an element in both directions.
  std::vector<LinkId> links(Component component, std::uint32_t element) const;
  /// The links of all cables up from the lower end of a cable, in both directions. Traffic can use any of them instead.
  std::vector<LinkId> siblings(std::uint32_t cable) const;
  /// The name of an element, as in faults of a scenario.
  std::string name(Component component, std::uint32_t element) const;
  /// Number of hosts of the job with a NIC at a leaf.
  int hosts_at(std::uint32_t leaf) const;
  /// Number of NIC ports of the job, or of all at leaves with one of them.
  std::int64_t nic_ports(bool with_neighbours) const;

 private:
  void count_below(const World& world);
  void sort_cables();
  void sort_switches();
  void add(Component component, std::uint32_t element, std::uint32_t below, std::uint32_t most);
  Component component_of(std::uint32_t cable) const;
  std::uint32_t lower(std::uint32_t cable) const { return fabric_.link(LinkId(2 * cable)).from.value; }

  const Fabric& fabric_;
  Fabric::Adjacency adjacency_;
  std::vector<std::uint32_t> below_;  ///< for each vertex, the NIC ports of the job below it
  std::vector<ElementClass> classes_;
};

}  // namespace fabricast
