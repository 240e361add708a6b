// Puts together what the lines of a subnet's description say of single ports.
#pragma once

#include <map>
#include <unordered_map>

#include "fabricast/discover/subnet.hpp"

namespace fabricast {

constexpr int most_ports = 254;   ///< of a device [IBTA-spec]
constexpr int most_lid = 0xBFFF;  ///< unicast [IBTA-spec]

/// What one line says: a port of a device, and what is at the other end of its cable.
struct PortSight {
  std::size_t device = 0;
  int port = 0;
  int lid = 0, lmc = 0;  ///< of an adapter's port
  // The other end: by its GUID, or where that is not told by its LID.
  std::optional<std::size_t> peer;
  int peer_lid = 0;  ///< 0: not told
  int peer_port = 0;
  std::string peer_name;
  BytesPerSecond rate;
  std::string speed;
  int line = 0, column = 0;
};

class SubnetBuilder {
 public:
  /// \param whole  whether every device has lines of its own; if not, adapters may be told by their switch alone
  SubnetBuilder(FileProblems& problems, bool whole) : problems_(problems), whole_(whole) {}

  /// The device of a key, which is there from then on.
  std::size_t device(DeviceKind kind, const std::string& key);
  SubnetDevice& at(std::size_t device) { return subnet_.devices[device]; }
  void add(PortSight sight);
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

/// Whether a node description is that of a SHARP aggregation node.
bool is_aggregation(std::string_view name);

}  // namespace fabricast
