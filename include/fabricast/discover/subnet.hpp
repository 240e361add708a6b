// An InfiniBand subnet as its tools print it: devices, and the cables between their ports.
//
// Read are what `ibnetdiscover` prints (the topology, and with --ports the list of ports) and what `iblinkinfo` prints
// (with and without --line, --switches-only) [infiniband-diags]. Every line must be understood, and every link must be
// told alike by both its ends, or it is an error of its line: a cut or patched file would give a wrong fabric in silence.
// What the tools say of ports that are down is passed over.
//
// Rates are those that carry data: lanes times signalling rate, less line coding and FEC [IBTA-spec].
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/units.hpp"
#include "fabricast/discover/problems.hpp"

namespace fabricast {

enum class DeviceKind {
  switch_box,
  adapter,      ///< a host's; of an HCA with several ports each may be one
  aggregation,  ///< the end inside a switch that SHARP reduces in
  router
};

struct SubnetDevice {
  DeviceKind kind = DeviceKind::adapter;
  std::string guid;  ///< 16 hexadecimal digits; empty: not told
  std::string name;  ///< node description
  int ports = 0;     ///< 0: not told
  int lid = 0;       ///< of a switch
  int line = 0;
  bool described = false;  ///< has lines of its own
};

struct SubnetCable {
  struct End {
    std::size_t device = 0;
    int port = 0;
    int lid = 0, lmc = 0;  ///< of adapters
  };
  End a, b;
  BytesPerSecond rate;  ///< of each direction
  std::string speed;    ///< as in `4xHDR`
  int line = 0;
};

struct DiscoveredSubnet {
  std::string file;
  std::vector<SubnetDevice> devices;
  std::vector<SubnetCable> cables;
};

enum class SubnetFormat { ibnetdiscover, port_list, iblinkinfo };

/// Which of them a text is, by what stands in it; empty: none.
std::optional<SubnetFormat> subnet_format(std::string_view text);

/// Faults go to `problems`; what could be read is returned.
DiscoveredSubnet read_subnet(SubnetFormat format, std::istream& in, FileProblems& problems);

/// A GUID as 16 digits in small letters; empty: it is none.
std::optional<std::string> guid_digits(std::string_view text);

/// The rate of a link by its width and the name of its speed: 4, "HDR". Empty if there is none of that name.
std::optional<BytesPerSecond> infiniband_rate(int width, std::string_view speed);

}  // namespace fabricast
