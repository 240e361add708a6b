// An InfiniBand subnet, from the output of its tools: devices, and the cables between their ports.
//
// Formats are the output of `ibnetdiscover` (the topology, or with --ports the list of ports) and of `iblinkinfo` (with
// and without --line and --switches-only) [infiniband-diags]. Every line must be understood, and both ends of a link
// must agree. Otherwise the line is an error, because a truncated or patched file would give a wrong fabric silently.
// Ports that are down are skipped.
//
// Rates are data rates in one direction: lanes times signaling rate, minus line coding and FEC [IBTA-spec].
//
// Plain values and pure functions; safe to call concurrently on different streams.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/units.hpp"
#include "fabricast/discover/problems.hpp"

namespace fabricast {

/// A kind of device on a subnet.
enum class DeviceKind {
  switch_box,
  adapter,      ///< of a host; each port of an HCA may be a device of its own
  aggregation,  ///< SHARP aggregation node: the endpoint inside a switch that reduces
  router
};

/// A device.
struct SubnetDevice {
  DeviceKind kind = DeviceKind::adapter;
  std::string guid;        ///< 16 hexadecimal digits; empty: not stated
  std::string name;        ///< node description
  int ports = 0;           ///< number of ports; 0: not stated
  int lid = 0;             ///< of a switch
  int line = 0;            ///< first line about the device
  bool described = false;  ///< whether the file has lines about the device itself, not only about its neighbors
};

/// A cable.
struct SubnetCable {
  /// One end.
  struct End {
    std::size_t device = 0;  ///< index into DiscoveredSubnet::devices
    int port = 0;
    int lid = 0, lmc = 0;  ///< of an adapter's port
  };
  End a, b;
  BytesPerSecond rate;  ///< of each direction; of the slower end if the ends differ
  std::string speed;    ///< width and name of the speed, for example `4xHDR`
  int line = 0;
};

/// The contents of a file.
struct DiscoveredSubnet {
  std::string file;
  std::vector<SubnetDevice> devices;
  std::vector<SubnetCable> cables;
};

/// Formats that can be read.
enum class SubnetFormat { ibnetdiscover, port_list, iblinkinfo };

/// The format of a text, by its first 1,000 lines; empty: none of these.
std::optional<SubnetFormat> subnet_format(std::string_view text);

/// Reads a subnet. \param problems  receives the errors and warnings; what could be read is returned
DiscoveredSubnet read_subnet(SubnetFormat format, std::istream& in, FileProblems& problems);

/// A GUID, with or without 0x, as 16 lower-case digits; empty if the text is not a GUID.
std::optional<std::string> guid_digits(std::string_view text);

/// The data rate of a link with a width and a named speed, for example 4 and "HDR". Empty if there is no such width or
/// speed.
std::optional<BytesPerSecond> infiniband_rate(int width, std::string_view speed);

}  // namespace fabricast
