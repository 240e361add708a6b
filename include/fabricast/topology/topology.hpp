// Topologies: they build a Fabric from the section `fabric` of a scenario.
//
// A topology is one file under sim/topology, with a specification and its defaults, its fields, and a pure function
// `build`, and one line in sim/topology/topologies.inc. The registry passes specifications as std::any, so a new
// topology changes no other file.
//
// Rates are line rates of one direction of one port, in bytes per second. Pure functions; safe to call concurrently.
#pragma once

#include <any>
#include <cstdint>
#include <span>
#include <string_view>

#include "fabricast/core/fields.hpp"
#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

/// What the cluster needs from its network.
struct FabricDemand {
  std::uint32_t nodes = 1;
  std::uint32_t ports_per_node = 1;
  LinkKind kind = LinkKind::infiniband;
  BytesPerSecond port_rate{50e9};  ///< line rate of a NIC port, all its cables together
  int cables_per_port = 1;         ///< ports of a card that NCCL counts as one
  double header_efficiency = 1;    ///< fraction of the line rate that is payload, between switches
  double nic_efficiency = 1;       ///< fraction of this that a NIC reaches
};

/// Keys that every topology has.
struct FabricBasics {
  SwitchSpec switch_box;  ///< the one kind of switch
  Metres cable{20};       ///< length of every cable
};
void visit_basics(FieldVisitor& visit, FabricBasics& basics);
void visit_fields(FieldVisitor& visit, SwitchSpec& spec);

/// The descriptor of a topology. Its specification has a type of its own, passed as std::any.
struct Topology {
  std::string_view name;     ///< `fabric.kind`
  std::string_view summary;  ///< one line for `fabricast list topologies`
  std::string_view source;   ///< where the design is described: a key of docs/references.md; may be empty
  /// The specification with all defaults, given those of the hardware; its fields; and the keys that all topologies
  /// have.
  std::any (*defaults)(const FabricBasics&);
  void (*visit)(FieldVisitor&, std::any&);
  const FabricBasics& (*basics)(const std::any&);
  /// The line rate that the switches offer to each cable of a NIC, summed over all planes. Infinite if each cable has
  /// its own rate.
  BytesPerSecond (*offered)(const std::any&);
  /// Builds the fabric. Equal arguments give equal fabrics, with the same numbers of vertices and links.
  /// \throws UserError if the demand does not fit
  Fabric (*build)(const std::any&, const FabricDemand&);
};

/// All topologies, in the order of topologies.inc.
std::span<const Topology> topologies();

/// For topologies in which a cable of a NIC has a whole port of a switch.
inline BytesPerSecond offered_rate(const FabricBasics& basics) { return basics.switch_box.rate; }

/// The descriptor of a topology. Its Spec derives from FabricBasics and has visit_fields and build, and also
/// offered_rate if a cable of a NIC does not have a whole port of a switch.
template <class Spec>
constexpr Topology make_topology(std::string_view name, std::string_view summary, std::string_view source) {
  return {name,
          summary,
          source,
          [](const FabricBasics& basics) {
            Spec spec;
            static_cast<FabricBasics&>(spec) = basics;
            return std::any(spec);
          },
          [](FieldVisitor& visit, std::any& spec) { visit_fields(visit, *std::any_cast<Spec>(&spec)); },
          [](const std::any& spec) -> const FabricBasics& { return *std::any_cast<Spec>(&spec); },
          [](const std::any& spec) { return offered_rate(*std::any_cast<Spec>(&spec)); },
          [](const std::any& spec, const FabricDemand& demand) { return build(*std::any_cast<Spec>(&spec), demand); }};
}

}  // namespace fabricast
