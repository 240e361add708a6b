// PCI devices of this host, by hwloc where it is built in.
#pragma once

#include <string>

namespace fabricast {

/// JSON: network, display, and accelerator devices with the bridges above them; null without hwloc.
std::string pci_devices();

}  // namespace fabricast
