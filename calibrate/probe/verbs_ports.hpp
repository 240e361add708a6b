// Ports of RDMA devices, and their rates.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "verbs_calls.hpp"

namespace fabricast {

/// Payload rate of a port, from its speed and width codes (PortInfo in the InfiniBand specification) and the kernel's
/// file `rate` ("800 Gb/sec (4X XDR)"). The file is used for unknown codes and for the speed code of NDR, which the
/// kernel also reports for XDR to a library whose field has 8 bits (rdma-core before 49).
/// \param file  content of the file; may be empty
/// \returns 0 if the rate is unknown
BytesPerSecond port_rate(unsigned speed, unsigned width, const std::string& file);

/// Active ports of all devices.
/// \param root  "/", or a copy of sysfs in a test
/// \throws ProbeFailure if a device cannot be opened or queried
std::vector<ProbePort> verbs_ports(const VerbsCalls& calls, const std::string& root);

}  // namespace fabricast
