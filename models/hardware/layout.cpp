// Queries and transformations of a layout, and the bandwidths that NCCL assumes for links [NCCL-topo]. These constants
// are NCCL's, in GB/s. They decide the search and are unrelated to the rates of forecasts.
#include "fabricast/hardware/layout.hpp"

#include <algorithm>

namespace fabricast {

// NCCL counts 15 x 100 Mb/s per lane of the first generation and doubles it with each further one: width x speed / 80
// GB/s.
double PcieSlot::gigabytes() const { return width * 15.0 * (1 << (generation - 1)) / 80; }

int NodeLayout::socket_of(int hub) const {
  while (!is_socket(hub)) hub = hubs[static_cast<std::size_t>(hub)].parent;
  return hub;
}

int NodeLayout::sockets() const {
  return static_cast<int>(std::count_if(hubs.begin(), hubs.end(), [](const Hub& h) { return h.parent < 0; }));
}

int NodeLayout::switches() const { return static_cast<int>(hubs.size()) - sockets(); }

bool NodeLayout::has_nvswitch() const {
  return std::any_of(gpus.begin(), gpus.end(), [](const Gpu& g) {
    return std::any_of(g.nvlinks.begin(), g.nvlinks.end(), [](const NvLinks& l) { return l.peer == nvswitch; });
  });
}

double nccl_nvlink(int capability) {
  if (capability >= 100) return 40.1;
  if (capability >= 90) return 20.6;
  if (capability == 86) return 12;
  return capability >= 70 ? 20 : 18;
}

double nccl_socket_link(CpuVendor vendor, int intel_model) {
  switch (vendor) {
    case CpuVendor::amd: return 16;
    case CpuVendor::arm: return 6;
    case CpuVendor::intel: break;
  }
  // Emerald and Granite Rapids, Sapphire Rapids, Skylake, older ones.
  if (intel_model >= 0xcf) return 40;
  if (intel_model >= 0x8f) return 22;
  return intel_model >= 0x55 ? 10 : 6;
}

// Indices of each copy are shifted by the sizes of the lists. Only the NVSwitch is common to all hosts.
NodeLayout repeat(const NodeLayout& one, int hosts) {
  NodeLayout all = one;
  const auto size = [](const auto& list) { return static_cast<int>(list.size()); };
  for (int h = 1; h < hosts; ++h) {
    const int hub = h * size(one.hubs), card = h * size(one.cards), gpu = h * size(one.gpus);
    for (NodeLayout::Hub x : one.hubs) {
      if (x.parent >= 0) x.parent += hub;
      x.host = h;
      all.hubs.push_back(x);
    }
    for (NodeLayout::Gpu x : one.gpus) {
      x.hub += hub;
      for (NodeLayout::NvLinks& l : x.nvlinks)
        if (l.peer != NodeLayout::nvswitch) l.peer += gpu;
      all.gpus.push_back(std::move(x));
    }
    for (NodeLayout::Card x : one.cards) {
      x.hub += hub;
      all.cards.push_back(x);
    }
    for (NodeLayout::Nic x : one.nics) {
      x.card += card;
      // Cards of different hosts differ, even if they state the same identifier.
      x.asic += static_cast<std::uint64_t>(h) << 48;
      all.nics.push_back(x);
    }
    for (const auto& [a, b] : one.peer_links) all.peer_links.push_back({a + hub, b + hub});
  }
  return all;
}

NodeLayout restricted_to(const NodeLayout& whole, const std::vector<int>& gpus, const std::vector<int>& nics) {
  NodeLayout part = whole;
  part.gpus.clear();
  part.nics.clear();
  for (const int g : gpus) {
    NodeLayout::Gpu gpu = whole.gpus[static_cast<std::size_t>(g)];
    // NVLinks to GPUs that do not take part are dropped, and the others refer to new numbers.
    std::vector<NodeLayout::NvLinks> nvlinks;
    for (NodeLayout::NvLinks l : gpu.nvlinks) {
      const auto peer = std::find(gpus.begin(), gpus.end(), l.peer);
      if (l.peer != NodeLayout::nvswitch && peer == gpus.end()) continue;
      if (l.peer != NodeLayout::nvswitch) l.peer = static_cast<int>(peer - gpus.begin());
      nvlinks.push_back(l);
    }
    gpu.nvlinks = std::move(nvlinks);
    part.gpus.push_back(std::move(gpu));
  }
  for (const int n : nics) part.nics.push_back(whole.nics[static_cast<std::size_t>(n)]);
  return part;
}

}  // namespace fabricast
