// Builds a subnet from lines that each describe one port. The readers of all formats (subnet_readers.hpp) use it.
#pragma once

#include <map>
#include <unordered_map>

#include "fabricast/discover/subnet.hpp"

namespace fabricast {

constexpr int most_ports = 254;   ///< maximum number of a port [IBTA-spec]
constexpr int most_lid = 0xBFFF;  ///< highest unicast LID [IBTA-spec]

/// The contents of one line: a port of a device, and the other end of its cable.
struct PortSight {
  std::size_t device = 0;
  int port = 0;
  int lid = 0, lmc = 0;  ///< of an adapter's port
  // The other end: a device if its GUID is stated, otherwise identified by its LID.
  std::optional<std::size_t> peer;
  int peer_lid = 0;  ///< 0: not stated
  int peer_port = 0;
  std::string peer_name;
  BytesPerSecond rate;
  std::string speed;
  int line = 0, column = 0;
};

/// Collects the lines of a file.
class SubnetBuilder {
 public:
  /// \param whole  whether the file lists every device; if not, adapters may appear only as peers of their switch
  SubnetBuilder(FileProblems& problems, bool whole) : problems_(problems), whole_(whole) {}

  /// The number of the device with a key. The first call creates it.
  std::size_t device(DeviceKind kind, const std::string& key);
  SubnetDevice& at(std::size_t device) { return subnet_.devices[device]; }
  /// Adds a line. Reports a port that has been added before.
  void add(PortSight sight);
  /// The subnet. Reports cables whose ends are missing or disagree.
  DiscoveredSubnet finish();

 private:
  void find_peers_by_lid();
  const PortSight* far_end(const PortSight& near) const;
  bool agree(const PortSight& near, const PortSight& far);
  std::string text(std::size_t device, int port) const;

  FileProblems& problems_;
  bool whole_;
  DiscoveredSubnet subnet_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::vector<PortSight> sights_;
  std::map<std::pair<std::size_t, int>, std::size_t> by_port_;
};

/// Whether a node description is that of a SHARP aggregation node: it contains "Aggregation Node".
bool is_aggregation(std::string_view name);

}  // namespace fabricast
