// Network interfaces that sockets may use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host.hpp"

namespace fabricast {

/// A network interface.
struct Netdev {
  std::string name;
  double gbit = 0;
  std::optional<double> mtu;
};

/// Interfaces that are up and fast enough for collectives: 25 Gb/s or more.
std::vector<Netdev> fast_netdevs(const HostFiles& host);

/// Whether sockets carry the data of collectives. They do if no RDMA port is up; else they carry only NCCL's bootstrap.
bool sockets_carry_data(const HostFiles& host);

}  // namespace fabricast
