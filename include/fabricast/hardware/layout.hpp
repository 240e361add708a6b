// The wiring of a node as NCCL describes it in a topology file: sockets, PCIe switches, GPUs, NICs, NVLinks, and what
// NCCL takes each link to carry.
//
// It comes from the few words of a scenario or from a topology file, and serves two: the planner's search, which works
// with NCCL's numbers, and the node's graph, which carries the hardware data's numbers on the same links.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fabricast {

enum class CpuVendor { intel, amd, arm };

/// A PCIe slot.
struct PcieSlot {
  int generation = 3;
  int width = 16;
  /// What NCCL takes it to carry, GB/s: x16 of Gen3 12, doubling by generation [NCCL-topo].
  double gigabytes() const;
  bool operator==(const PcieSlot&) const = default;
};

struct NodeLayout {
  static constexpr int nvswitch = -1;

  /// A socket, or a PCIe switch below one.
  struct Hub {
    int parent = -1;  ///< hub above; -1: a socket
    PcieSlot up;      ///< of a switch: its way up
    int host = 0;     ///< of the hosts that share a NVLink domain
    CpuVendor cpu = CpuVendor::intel;
    double socket_link = 0;  ///< GB/s that NCCL takes the link from a socket to another to carry
    bool operator==(const Hub&) const = default;
  };
  struct NvLinks {
    int peer = nvswitch;  ///< a GPU, or the NVSwitch
    double count = 0;     ///< may be a fraction in a mesh that is not known in detail
    bool operator==(const NvLinks&) const = default;
  };
  struct Gpu {
    int device = -1;  ///< its number in the machine, of which others are left out; -1: its place in the list
    int hub = 0;
    PcieSlot slot;
    int capability = 90;
    double c2c = 0;  ///< GB/s to the socket by NVLink-C2C; 0: none
    bool gdr = true;
    std::vector<NvLinks> nvlinks;
    bool operator==(const Gpu&) const = default;
  };
  /// A NIC's slot; ports of one card share it.
  struct Card {
    int hub = 0;
    PcieSlot slot;
    bool operator==(const Card&) const = default;
  };
  struct Nic {
    int card = 0;
    double rate = 0;  ///< GB/s, line rate
    std::uint64_t asic = 0;
    int port = 0;
    double latency_us = 0;  ///< NCCL adds it to a network hop
    bool collnet = false;   ///< offered by a CollNet plugin
    bool gdr = true;
    bool operator==(const Nic&) const = default;
  };

  std::vector<Hub> hubs;  ///< a parent stands before its children
  std::vector<Gpu> gpus;  ///< by rank
  std::vector<Card> cards;
  std::vector<Nic> nics;                       ///< by device number
  std::vector<std::array<int, 2>> peer_links;  ///< PCIe switches that are joined beside the tree

  bool operator==(const NodeLayout&) const = default;

  bool is_socket(int hub) const { return hubs[static_cast<std::size_t>(hub)].parent < 0; }
  int socket_of(int hub) const;
  int sockets() const;
  int switches() const;
  bool has_nvswitch() const;
};

/// What NCCL takes one NVLink to carry, GB/s [NCCL-topo].
double nccl_nvlink(int capability);
/// The same of the link between two sockets, by vendor and, for Intel, model of family 6 [NCCL-topo].
double nccl_socket_link(CpuVendor vendor, int intel_model);

/// The same wiring in `hosts` hosts, whose GPUs share the NVSwitch.
NodeLayout repeat(const NodeLayout& one, int hosts);

/// The same wiring with these GPUs and NICs alone, in the order given. Hubs and cards stay.
NodeLayout restricted_to(const NodeLayout& whole, const std::vector<int>& gpus, const std::vector<int>& nics);

/// Reads a NCCL topology file (NCCL_TOPO_DUMP_FILE) from its text; `file` is for messages.
///
/// Elements that do not bear on paths are passed over. GPUs without rank are not part of the job if others have one.
/// \throws UserError with file and line of everything that is damaged
NodeLayout read_topology(const std::string& text, const std::string& file);

}  // namespace fabricast
