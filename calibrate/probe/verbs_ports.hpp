// Ports of RDMA devices, and what they carry.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "verbs_calls.hpp"

namespace fabricast {

/// What a port carries, of its codes of speed and width as in PortInfo of the InfiniBand specification, and of what the
/// kernel's file `rate` says ("800 Gb/sec (4X XDR)"). The file is asked where a code is not known, and where the speed is
/// that of NDR, which the kernel also says for XDR to a library whose field has 8 bits (rdma-core before 49).
/// \returns zero if none of them tells
BytesPerSecond port_rate(unsigned speed, unsigned width, const std::string& file);

/// Ports that are up.  \param root  "/", or a copy of it, where sysfs is
/// \throws ProbeFailure if a device can not be asked
std::vector<ProbePort> verbs_ports(const VerbsCalls& calls, const std::string& root);

}  // namespace fabricast
