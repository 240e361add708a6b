// What is bought: power and cages of hosts, switches, NICs and transceivers, as data (equipment.json).
//
// Data sheets state the greatest power of a host; NICs that are part of it are in it. Where no source was found there is
// a rule marked `guess`; prices.yaml may give better figures (docs/models/bill.md).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "fabricast/fabric/link.hpp"
#include "fabricast/hardware/compute.hpp"

namespace fabricast {

/// What a cable is made of. dac and acc are copper, an aoc has its transceivers fixed to it; the others are fibres with
/// a transceiver at each end.
enum class Medium { dac, acc, aoc, multimode, single_mode };
template <>
struct EnumNames<Medium> {
  static constexpr std::array<std::string_view, 5> names{"dac", "acc", "aoc", "multimode", "single_mode"};
};
constexpr bool has_transceivers(Medium medium) { return medium >= Medium::multimode; }

/// Power of one item, and where the figure is from.
struct RatedPower {
  Watts power{0};
  std::string source;
};

/// A host with its NICs, all GPUs at `limit`. \param sheet  of the GPU
RatedPower power_of_host(std::string_view gpu, int gpus, const GpuSheet& sheet, Watts limit);
/// Without transceivers. \param rate  of a port
RatedPower power_of_switch(int ports, BytesPerSecond rate);
RatedPower power_of_nic(BytesPerSecond rate);
/// \param ports  of so much each, in one plug
RatedPower power_of_transceiver(Medium medium, BytesPerSecond rate, int ports);
/// Both ends, where they are part of the cable.
RatedPower power_of_cable(Medium medium, BytesPerSecond rate);
/// Ports that share a cage, and so a transceiver: 2 in the twin-port OSFP of Quantum-2 [LinkX]; 1 where nothing is known.
int ports_per_cage(LinkKind link, int ports, BytesPerSecond rate);

}  // namespace fabricast
