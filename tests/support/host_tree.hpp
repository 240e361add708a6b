// A host's sysfs and procfs, made up, in a folder of its own.
#pragma once

#include <string>
#include <vector>

#include "scratch.hpp"

namespace fabricast {

class HostTree {
 public:
  std::string root() const { return scratch_.path.string(); }
  void write(const std::string& path, const std::string& content) const;
  /// A link from `path` to `target`, both below the root.
  void link(const std::string& path, const std::string& target) const;
  void remove(const std::string& path) const;

  /// A device of the PCI bus, `folder` as in /sys/devices.
  void pci(const std::string& folder, const std::string& vendor, const std::string& device, const std::string& klass,
           int numa, double speed, int width) const;
  /// A device of InfiniBand or RoCE on a PCI device, with one port that is up.
  void hca(const std::string& name, const std::string& pci_folder, bool ethernet) const;

 private:
  Scratch scratch_;
};

/// Where device i of the host below stands: a GPU and a NIC on one switch of Gen5 x16.
std::string switch_folder(int i);
std::string gpu_folder(int i);
std::string nic_folder(int i);

/// Two sockets, eight H100, eight ConnectX-7 of 400 Gb/s, nothing wrong with it.
void write_healthy_host(const HostTree& tree, bool ethernet);

/// 4096 bytes of configuration space with an ACS capability behind another one.
std::string acs_config(unsigned control);

}  // namespace fabricast
