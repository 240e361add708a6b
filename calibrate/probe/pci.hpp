// PCI devices of this host: all of them by hwloc where it is built in, and which are near each other by the kernel's tree.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

/// JSON: network, display, and accelerator devices with the bridges above them; null without hwloc.
std::string pci_devices();

/// Which of these PCI addresses is nearest to an HCA: the most bridges are above both; else the same NUMA node; else the
/// first. -1 if the HCA is no PCI device, or none of them is there.  \param root  "/", or a copy of it in a test
int nearest_pci(const std::string& root, const std::string& hca, const std::vector<std::string>& addresses);

}  // namespace fabricast
