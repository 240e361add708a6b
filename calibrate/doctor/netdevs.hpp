// Network interfaces as sockets see them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host.hpp"

namespace fabricast {

/// An interface that is up, and fast enough for collectives: 25 Gb/s or more.
struct Netdev {
  std::string name;
  double gbit = 0;
  std::optional<double> mtu;
};

std::vector<Netdev> fast_netdevs(const HostFiles& host);

/// Sockets carry data only where no RDMA port is up; elsewhere they carry NCCL's start-up.
bool sockets_carry_data(const HostFiles& host);

}  // namespace fabricast
