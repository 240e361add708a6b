// What the files of a host contain, before any check judges it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/calibrate/doctor.hpp"
#include "tools.hpp"
#include "tree.hpp"

namespace fabricast {

/// Current and highest state of a PCIe link as one end reports it; 0: unknown.
struct PcieLink {
  double speed = 0, most_speed = 0;  ///< GT/s
  int width = 0, most_width = 0;     ///< lanes
};

/// Rate of a PCIe link in one direction in GB/s, after line coding; packet headers are not deducted.
/// \param speed  GT/s
/// \param width  lanes
double pcie_gbps(double speed, int width);

struct PciDevice {
  std::string address, id;
  std::string driver;              ///< kernel driver; empty: none is bound
  std::string root_bus;            ///< host bridge: "pci0000:17"
  std::vector<std::string> chain;  ///< addresses from the root port down to the device itself
  int numa = -1;                   ///< -1: unknown
  bool virtual_function = false;
  PcieLink link;
};

struct RdmaGid {
  int index = 0;
  std::string gid, type;  ///< type: "RoCE v2", "IB/RoCE v1"
  bool ipv4() const { return gid.starts_with("0000:0000:0000:0000:0000:ffff:"); }
  bool link_local() const { return gid.starts_with("fe80:"); }
};

struct RdmaPort {
  int number = 1;
  std::string state, physical;  ///< "ACTIVE", "LinkUp"
  std::string layer;            ///< "InfiniBand", "Ethernet"
  double gbit = 0;              ///< rate in Gbit/s; 0: unknown
  std::string lanes;            ///< "4X NDR"; empty: unknown
  std::string netdev;           ///< network interface of an Ethernet port; empty: unknown
  std::vector<RdmaGid> gids;    ///< those that are not zero
  std::string folder;           ///< in sysfs
  bool active() const { return state == "ACTIVE"; }
  bool ethernet() const { return layer == "Ethernet"; }
};

struct RdmaNic {
  std::string name, firmware, type, board;
  std::optional<PciDevice> pci;  ///< none: a software device
  std::vector<RdmaPort> ports;
  /// Whether some port is active.
  bool active() const;
  /// Equal for NICs of the same model: the board, or the type if the board is unknown.
  std::string kind() const { return board.empty() ? type : board; }
};

/// The value of an environment variable, and where it is set: "environment" or a file.
struct SetVariable {
  std::string value, from;
};

struct HostFiles {
  Tree tree;
  std::string name, kernel;
  bool arm = false, virtual_machine = false;
  int numa_nodes = 0;
  std::vector<PciDevice> gpus;
  std::vector<RdmaNic> nics;
  std::map<std::string, PciDevice> bridges;      ///< above GPUs and NICs, by address
  std::vector<DoctorPair> pairs;                 ///< one per GPU that has a NIC
  std::map<std::string, SetVariable> variables;  ///< as NCCL resolves them, and all others of the environment
  DoctorExtras extras;
  ToolFacts tools;

  std::string gpu_name(std::size_t index) const { return "gpu" + std::to_string(index); }
  /// Whether the NIC is assigned to a GPU.
  bool paired(const RdmaNic& nic) const;
  /// The variable, or null if it is not set.
  const SetVariable* variable(const std::string& name) const;
};

/// Reads all files. What cannot be read stays empty.
/// \throws UserError if a text of `extras` holds no output of a known tool
HostFiles read_host(const std::string& root, const DoctorExtras& extras);

/// The distance of two devices, from the bridges above them and their NUMA nodes.
PciDistance pci_distance(const PciDevice& a, const PciDevice& b);

}  // namespace fabricast
