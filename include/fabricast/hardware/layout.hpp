// The wiring of a node as NCCL describes it in a topology file: sockets, PCIe switches, GPUs, NICs, NVLinks, and the
// bandwidth that NCCL assumes for each link.
//
// A layout is derived from a scenario or read from a topology file. The planner's search uses it with NCCL's
// bandwidths. The node's graph has the same links, with the rates of the hardware data.
//
// Indices refer to the lists of NodeLayout and are not checked; bandwidths are numbers in GB/s, the unit of NCCL, of
// one direction. They are what NCCL believes and decide its search; they are unrelated to the rates of forecasts. Plain
// values and pure functions; safe to call concurrently.
//
//   socket (hub 0)                      socket (hub 1)
//     PCIe switch (hub 2)                 PCIe switch (hub 3)        hubs form a tree; a socket has parent -1
//       GPU 0   card 0: NIC 0               GPU 1   card 1: NIC 1    GPUs and cards hang from a hub by a slot
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fabricast {

/// Vendor of the CPUs: decides what NCCL assumes of the link between sockets, and how far GPUs may reach each other.
enum class CpuVendor { intel, amd, arm };

/// A PCIe slot.
struct PcieSlot {
  int generation = 3;  ///< from 1
  int width = 16;      ///< lanes
  /// Bandwidth that NCCL assumes, GB/s: 12 for Gen3 x16, doubling with each generation [NCCL-topo].
  double gigabytes() const;
  bool operator==(const PcieSlot&) const = default;
};

/// Wiring of one host, or of several hosts that share an NVLink domain.
struct NodeLayout {
  static constexpr int nvswitch = -1;  ///< stands for the NVSwitch as a peer

  /// A socket, or a PCIe switch below one.
  struct Hub {
    int parent = -1;  ///< hub above; -1: a socket
    PcieSlot up;      ///< of a switch: its slot upwards
    int host = 0;     ///< number of the host among those of the NVLink domain
    CpuVendor cpu = CpuVendor::intel;
    double socket_link = 0;  ///< of a socket: bandwidth that NCCL assumes to the other sockets
    bool operator==(const Hub&) const = default;
  };
  /// A bundle of NVLinks to one peer.
  struct NvLinks {
    int peer = nvswitch;  ///< index of a GPU, or `nvswitch`
    double count = 0;     ///< may be fractional in a mesh whose details are unknown
    bool operator==(const NvLinks&) const = default;
  };
  /// A GPU.
  struct Gpu {
    int device = -1;  ///< number in the host if a job uses only some GPUs; -1: its index in the list
    int hub = 0;      ///< that its slot belongs to
    PcieSlot slot;
    int capability = 90;           ///< CUDA compute capability, 90 for sm_90
    double c2c = 0;                ///< to the socket by NVLink-C2C; 0: none
    bool gdr = true;               ///< NICs may access its memory
    std::vector<NvLinks> nvlinks;  ///< empty: none
    bool operator==(const Gpu&) const = default;
  };
  /// The slot of a NIC, which the ports of one card share.
  struct Card {
    int hub = 0;
    PcieSlot slot;
    bool operator==(const Card&) const = default;
  };
  /// A NIC port.
  struct Nic {
    int card = 0;
    double rate = 0;         ///< line rate
    std::uint64_t asic = 0;  ///< identifies the device: ports with equal values are ports of one device
    int port = 0;
    double latency_us = 0;  ///< stated by the driver; NCCL adds it to a network hop
    bool collnet = false;   ///< supported by a CollNet plugin
    bool gdr = true;        ///< it may access GPU memory
    bool operator==(const Nic&) const = default;
  };

  std::vector<Hub> hubs;  ///< parents before children
  std::vector<Gpu> gpus;  ///< by rank
  std::vector<Card> cards;
  std::vector<Nic> nics;                       ///< by device number
  std::vector<std::array<int, 2>> peer_links;  ///< pairs of PCIe switches connected outside the tree

  bool operator==(const NodeLayout&) const = default;

  /// Whether a hub is a socket rather than a PCIe switch.
  bool is_socket(int hub) const { return hubs[static_cast<std::size_t>(hub)].parent < 0; }
  /// The socket above a hub, or the hub itself if it is one.
  int socket_of(int hub) const;
  int sockets() const;        ///< number of sockets of all hosts
  int switches() const;       ///< number of PCIe switches of all hosts
  bool has_nvswitch() const;  ///< whether any GPU has an NVLink to an NVSwitch
};

/// Bandwidth that NCCL assumes for one NVLink, GB/s [NCCL-topo]. \param capability  of the GPU, 90 for sm_90
double nccl_nvlink(int capability);
/// The same for the link between two sockets, by vendor and, for Intel, by the model number of family 6 [NCCL-topo].
double nccl_socket_link(CpuVendor vendor, int intel_model);

/// The wiring of `hosts` identical hosts whose GPUs share an NVSwitch. Devices are numbered host by host. Identifiers
/// of NICs are made different by host, so that cards of two hosts are never taken for one.
NodeLayout repeat(const NodeLayout& one, int hosts);

/// The same wiring with only these GPUs and NICs, in the order given, and numbered anew in this order. NVLinks to GPUs
/// that are left out are dropped. Hubs and cards stay, so distances do.
NodeLayout restricted_to(const NodeLayout& whole, const std::vector<int>& gpus, const std::vector<int>& nics);

/// Reads an NCCL topology file (NCCL_TOPO_DUMP_FILE). \param file  its name in messages
///
/// Elements that do not affect paths are ignored. If some GPUs have a rank, those without one are not part of the job.
/// \throws UserError with file and line of everything that is invalid
NodeLayout read_topology(const std::string& text, const std::string& file);

}  // namespace fabricast
