// Distance of PCI devices, from the paths of their sysfs entries.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "pci.hpp"

namespace fabricast {

namespace fs = std::filesystem;

namespace {

/// The path from the PCI root to a device, e.g. "pci0000:80", "0000:80:01.0", "0000:81:00.0". Empty for other devices.
std::vector<std::string> path_to(const fs::path& device) {
  std::error_code gone;
  const fs::path real = fs::canonical(device, gone);
  std::vector<std::string> route;
  if (gone) return route;
  for (const fs::path& part : real)
    if (!route.empty() || part.string().starts_with("pci")) route.push_back(part.string());
  return route;
}

int numa_of(const fs::path& device) {
  int node = -1;
  std::ifstream(device / "numa_node") >> node;
  return node;
}

}  // namespace

int nearest_pci(const std::string& root, const std::string& hca, const std::vector<std::string>& addresses) {
  const fs::path sys = fs::path(root) / "sys", own = sys / "class/infiniband" / hca / "device";
  const std::vector<std::string> route = path_to(own);
  if (route.empty()) return -1;
  int best = -1;
  std::pair<std::ptrdiff_t, bool> nearest;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const fs::path device = sys / "bus/pci/devices" / addresses[i];
    const std::vector<std::string> other = path_to(device);
    if (other.empty()) continue;
    const auto parted = std::mismatch(route.begin(), route.end(), other.begin(), other.end()).first;
    const std::pair near(parted - route.begin(), numa_of(own) >= 0 && numa_of(own) == numa_of(device));
    if (best < 0 || near > nearest) {
      best = static_cast<int>(i);
      nearest = near;
    }
  }
  return best;
}

}  // namespace fabricast
