// The wiring of a host without a topology file: GPUs and NICs spread evenly over PCIe switches, or over the root ports
// of the sockets if there are none, and switches spread evenly over sockets (docs/models/node.md).
#include <algorithm>
#include <cmath>

#include "node_parts.hpp"

namespace fabricast {

namespace {

/// GPUs of the board that a mesh of NVLinks belongs to. Boards without NVSwitch have four or eight, so two or three are
/// some of a board's. Superchips also come in pairs.
int board_gpus(const NodeSpec& spec, const GpuKind& gpu) {
  constexpr int smallest = 4;
  const bool some = spec.gpus < smallest && gpu.c2c.empty() && has_nvlink_mesh(smallest, gpu.nvlinks);
  return some ? smallest : spec.gpus;
}

/// The owner of thing i if n things are spread evenly over m owners.
int spread(int i, int n, int m) { return static_cast<int>(static_cast<long>(i) * m / n); }

// Slots of GPUs, switches and NICs have the generation of the GPU, at 16 lanes.
PcieSlot slot_of(const GpuKind& gpu) { return {gpu.pcie.back() - '0', 16}; }

/// Model number of the CPU. Hosts are assumed to be as old as their GPUs: Skylake up to Ampere, then Sapphire Rapids
/// (guess).
int intel_model(const GpuKind& gpu) { return gpu.compute_capability < 89 ? 0x55 : 0x8f; }

}  // namespace

NodeLayout usual_layout(const NodeSpec& spec, const GpuKind& gpu, int nics, BytesPerSecond rate) {
  NodeLayout layout;
  const int board = board_gpus(spec, gpu);
  for (int s = 0; s < spec.sockets; ++s)
    layout.hubs.push_back({-1, {}, 0, spec.cpu, nccl_socket_link(spec.cpu, intel_model(gpu))});
  const int switches = spec.pcie_switches;
  for (int i = 0; i < switches; ++i)
    layout.hubs.push_back({spread(i, switches, spec.sockets), slot_of(gpu), 0, spec.cpu, 0});
  const auto hub_of = [&](int i, int n) {
    return switches > 0 ? spec.sockets + spread(i, n, switches) : spread(i, n, spec.sockets);
  };
  for (int g = 0; g < spec.gpus; ++g) {
    NodeLayout::Gpu x;
    x.hub = hub_of(g, spec.gpus);
    x.slot = slot_of(gpu);
    x.capability = gpu.compute_capability;
    // A GPU with NVLink-C2C attaches to its CPU, not to a PCIe switch.
    if (!gpu.c2c.empty()) {
      x.hub = spread(g, spec.gpus, spec.sockets);
      x.c2c = 450;  // above the rate of any NIC; the actual rate is in the hardware data
    }
    if (spec.intranode == Intranode::nvswitch)
      x.nvlinks.push_back({NodeLayout::nvswitch, static_cast<double>(gpu.nvlinks)});
    if (spec.intranode == Intranode::nvlink_mesh)
      for (int peer = 0; peer < spec.gpus; ++peer)
        if (const double count = mesh_nvlinks(board, gpu.nvlinks, g, peer); count > 0)
          x.nvlinks.push_back({peer, count});
    // Bridges join neighbouring cards; an odd card at the end has none.
    if (const int peer = g % 2 == 0 ? g + 1 : g - 1; spec.intranode == Intranode::nvlink_pairs && peer < spec.gpus)
      x.nvlinks.push_back({peer, static_cast<double>(gpu.bridge_nvlinks)});
    layout.gpus.push_back(std::move(x));
  }
  for (int n = 0; n < nics; ++n) {
    // A wrong binding pairs GPUs of one half of the node with NICs of the other.
    const int place = spec.nics.numa == NicNuma::remote ? (n + (nics + 1) / 2) % nics : n;
    layout.cards.push_back({hub_of(place, nics), slot_of(gpu)});
    NodeLayout::Nic nic;
    nic.card = n;
    nic.rate = gigabytes_per_second(rate);
    nic.asic = static_cast<std::uint64_t>(n);
    nic.collnet = true;  // a CollNet plugin, if enabled, supports all NICs
    layout.nics.push_back(nic);
  }
  return layout;
}

}  // namespace fabricast
