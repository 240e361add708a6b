// What the files tell of a host, before it is judged.
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

/// 0: not told.
struct PcieLink {
  double speed = 0, most_speed = 0;  ///< GT/s
  int width = 0, most_width = 0;     ///< lanes
};

/// Payload and headers in one direction, in GB/s.
double pcie_gbps(double speed, int width);

struct PciDevice {
  std::string address, id;
  std::string driver;              ///< empty: none is bound
  std::string root_bus;            ///< "pci0000:17"
  std::vector<std::string> chain;  ///< addresses from the root port down to the device itself
  int numa = -1;
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
  double gbit = 0;              ///< rate in Gbit/s; 0: not told
  std::string lanes;            ///< "4X NDR"; empty: not told
  std::string netdev;           ///< of an Ethernet port; empty: not told
  std::vector<RdmaGid> gids;    ///< those in use
  std::string folder;           ///< in sysfs
  bool active() const { return state == "ACTIVE"; }
  bool ethernet() const { return layer == "Ethernet"; }
};

struct RdmaNic {
  std::string name, firmware, type, board;
  std::optional<PciDevice> pci;  ///< none: made by software
  std::vector<RdmaPort> ports;
  bool active() const;
  /// Those of which nothing but the place is different.
  std::string kind() const { return board.empty() ? type : board; }
};

/// A variable, and who sets it: the environment, or a file.
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
  std::vector<DoctorPair> pairs;                 ///< of the devices' names
  std::map<std::string, SetVariable> variables;  ///< as NCCL gets them
  DoctorExtras extras;
  ToolFacts tools;

  std::string gpu_name(std::size_t index) const { return "gpu" + std::to_string(index); }
  /// Whether it serves a GPU.
  bool paired(const RdmaNic& nic) const;
  const SetVariable* variable(const std::string& name) const;
};

HostFiles read_host(const std::string& root, const DoctorExtras& extras);

PciDistance pci_distance(const PciDevice& a, const PciDevice& b);

}  // namespace fabricast
