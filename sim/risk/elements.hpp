// The components of a fabric by kind and role.
//
// The role of a switch is that of what lies below it: NIC ports of the job, counted along every way down. A cable's is its
// lower end's. Ports that NCCL does not use are idle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/risk/risk.hpp"

namespace fabricast {

struct ElementClass {
  Component component = Component::nic_cable;
  Role role = Role::full;
  std::vector<std::uint32_t> members;  ///< cables, switches as vertices, rails
};

class Elements {
 public:
  /// \pre the world has a fabric
  explicit Elements(const World& world);
  /// By component, then role; NICs are their cables.
  const std::vector<ElementClass>& classes() const { return classes_; }
  /// All links of an element, both directions.
  std::vector<LinkId> links(Component component, std::uint32_t element) const;
  /// Links that traffic leaves the fabric's lower half by, beside a cable: the cables up from its lower end.
  std::vector<LinkId> siblings(std::uint32_t cable) const;
  std::string name(Component component, std::uint32_t element) const;
  /// Hosts of the job that have a NIC at a leaf.
  int hosts_at(std::uint32_t leaf) const;

 private:
  void count_below(const World& world);
  void sort_cables();
  void sort_switches();
  void add(Component component, std::uint32_t element, std::uint32_t below, std::uint32_t most);
  Component component_of(std::uint32_t cable) const;
  std::uint32_t lower(std::uint32_t cable) const { return fabric_.link(LinkId(2 * cable)).from.value; }

  const Fabric& fabric_;
  Fabric::Adjacency adjacency_;
  std::vector<std::uint32_t> below_;  ///< by vertex
  std::vector<ElementClass> classes_;
};

}  // namespace fabricast
