// Topologies: what builds a Fabric from the `fabric:` section.
//
// A topology is one file under sim/topology: a spec with defaults, its fields, and a pure `build`; and one line in
// sim/topology/topologies.inc. The registry hands the spec around as std::any, so a new topology changes nothing else.
#pragma once

#include <any>
#include <cstdint>
#include <span>
#include <string_view>

#include "fabricast/core/fields.hpp"
#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

/// What the cluster asks of its network. Rates are of one direction of one port.
struct FabricDemand {
  std::uint32_t nodes = 1;
  std::uint32_t ports_per_node = 1;
  LinkKind kind = LinkKind::infiniband;
  BytesPerSecond port_rate{50e9};  ///< line rate of a NIC port, all its cables together
  int cables_per_port = 1;         ///< ports of a card that NCCL takes for one
  double header_efficiency = 1;    ///< payload share of the line rate between switches
  double nic_efficiency = 1;       ///< what a NIC reaches of that
};

/// Keys that every topology takes.
struct FabricBasics {
  SwitchSpec switch_box;
  Metres cable{20};
};
void visit_basics(FieldVisitor& visit, FabricBasics& basics);
void visit_fields(FieldVisitor& visit, SwitchSpec& spec);

struct Topology {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< where the design is described; a key of docs/references.md
  /// A spec with all defaults, given the hardware's.
  std::any (*defaults)(const FabricBasics&);
  void (*visit)(FieldVisitor&, std::any&);
  const FabricBasics& (*basics)(const std::any&);
  /// Line rate that the switches offer a cable of a NIC, in all planes together; infinite where each cable has its own.
  BytesPerSecond (*offered)(const std::any&);
  /// \throws UserError if the demand does not fit.
  Fabric (*build)(const std::any&, const FabricDemand&);
};

std::span<const Topology> topologies();

inline BytesPerSecond offered_rate(const FabricBasics& basics) { return basics.switch_box.rate; }

/// The descriptor of a topology whose Spec derives from FabricBasics and has visit_fields and build, and offered_rate where
/// a NIC's cable is not at a whole port of a switch.
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
