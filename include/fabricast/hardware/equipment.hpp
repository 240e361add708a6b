// Equipment to buy: power and port cages of hosts, switches, NICs, transceivers and cables, as data (equipment.json).
//
// Power is in watts. Data sheets state the maximum power of a host, which includes its NICs. If no source was found, a
// formula marked `guess` is used; prices.yaml may supply better numbers (docs/models/bill.md).
//
// Functions only read data compiled into the binary; safe to call concurrently.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "fabricast/fabric/link.hpp"
#include "fabricast/hardware/compute.hpp"

namespace fabricast {

/// Kind of cable. dac and acc are copper, an aoc has transceivers fixed to it. The others are fibers with a pluggable
/// transceiver at each end.
enum class Medium { dac, acc, aoc, multimode, single_mode };
template <>
struct EnumNames<Medium> {
  static constexpr std::array<std::string_view, 5> names{"dac", "acc", "aoc", "multimode", "single_mode"};
};
/// Whether the cable needs separate transceivers.
constexpr bool has_transceivers(Medium medium) { return medium >= Medium::multimode; }

/// Power of one item, and the source of the number.
struct RatedPower {
  Watts power{0};
  std::string source;
};

/// Power of a host with its NICs, and all GPUs at the power limit `limit`. \param sheet  data sheet of the GPU
RatedPower power_of_host(std::string_view gpu, int gpus, const GpuSheet& sheet, Watts limit);
/// Power of a switch without transceivers. \param rate  per port
RatedPower power_of_switch(int ports, BytesPerSecond rate);
/// Power of a NIC.
RatedPower power_of_nic(BytesPerSecond rate);
/// Power of a transceiver. \param rate  per port  \param ports  ports in one plug
RatedPower power_of_transceiver(Medium medium, BytesPerSecond rate, int ports);
/// Power of a cable with both ends, if the ends are part of it.
RatedPower power_of_cable(Medium medium, BytesPerSecond rate);
/// Number of ports that share a cage, and therefore a transceiver: 2 in the twin-port OSFP of Quantum-2 [LinkX]; 1 if
/// nothing is known about the switch. \param ports  ports of the switch
int ports_per_cage(LinkKind link, int ports, BytesPerSecond rate);

}  // namespace fabricast
