// PCI devices of this host: a list from hwloc if it is built in, and their distance from the kernel's device tree.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

/// Network, display, processor and accelerator devices with the bridges above them, as JSON; "null" without hwloc.
std::string pci_devices();

/// The PCI address nearest to an HCA: the one with which it shares the most bridges. Ties go to the same NUMA node,
/// then to the first address.
/// \param root  "/", or a copy of sysfs in a test
/// \returns an index into `addresses`; -1 if the HCA is not a PCI device or none of the addresses exists
int nearest_pci(const std::string& root, const std::string& hca, const std::vector<std::string>& addresses);

}  // namespace fabricast
