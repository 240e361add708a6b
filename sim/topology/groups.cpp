// Groups of switches (groups.hpp).
#include "groups.hpp"

#include <fmt/format.h>

#include "fabricast/core/error.hpp"

namespace fabricast {

std::uint32_t number_of_groups(const GroupedBasics& spec, const FabricDemand& demand, std::uint32_t with_nics,
                               std::string_view each) {
  if (spec.groups > 0) return static_cast<std::uint32_t>(spec.groups);
  if (spec.nodes_per_switch == 0)
    throw UserError::at("fabric.groups", fmt::format("neither the groups nor the nodes of {} are given", each),
                        "write fabric.groups or fabric.nodes_per_switch");
  const std::uint64_t room = std::uint64_t{with_nics} * static_cast<std::uint32_t>(spec.nodes_per_switch);
  return static_cast<std::uint32_t>((demand.nodes + room - 1) / room);
}

GlobalCables::GlobalCables(const GroupedBasics& spec, std::uint32_t groups, std::uint32_t switches, std::uint64_t taken)
    : groups_(groups), switches_(switches), between_(static_cast<std::uint32_t>(spec.global_links)) {
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  if (groups > 1 && between_ == 0 && taken < ports)
    between_ = static_cast<std::uint32_t>((ports - taken) * switches / (groups - 1));
}

std::uint64_t GlobalCables::at_switch() const {
  const std::uint64_t of_group = std::uint64_t{groups_ - 1} * between_;
  return (of_group + switches_ - 1) / switches_;
}

void GlobalCables::add_to(FabricBuilder& builder, std::uint32_t first_switch, const LinkClass& of) const {
  for (std::uint32_t a = 0; a < groups_; ++a)
    for (std::uint32_t b = a + 1; b < groups_; ++b)
      for (std::uint32_t i = 0; i < between_; ++i)
        builder.add_cable(VertexId(first_switch + a * switches_ + (first(a, b) + i) % switches_),
                          VertexId(first_switch + b * switches_ + (first(b, a) + i) % switches_), of, of);
}

}  // namespace fabricast
