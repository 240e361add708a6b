// Builds the graph on which transfers run from a layout: the same links, with the rates of the hardware data.
//
// Links of the layout with the rates at which transfers run: line rate x efficiency x lanes or NVLinks. Names of
// vertices are those of faults and results (`gpu3`, `nic0`, `pcie1`).
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "node_parts.hpp"

namespace fabricast {

namespace {

LinkClass class_of(const LinkType& type, double count = 1) {
  return {type.kind, type.rate * (type.efficiency.value * count), type.latency.us()};
}

/// Builds the graph, sockets first and NVLinks last.
class NodeBuilder {
 public:
  NodeBuilder(const NodeLayout& layout, const Node& node, const Hardware& hardware)
      : layout_(layout), node_(node), hardware_(hardware) {}

  NodeGraph build() {
    graph_.gpus = static_cast<int>(layout_.gpus.size());
    graph_.nics = static_cast<int>(layout_.nics.size());
    for (int g = 0; g < graph_.gpus; ++g) graph_.add_vertex(NodeVertexKind::gpu, fmt::format("gpu{}", g));
    // NICs are named by their port on the fabric, so that names stay the same if NCCL uses only some of them.
    for (const int port : node_.port_of_nic) graph_.add_vertex(NodeVertexKind::nic, fmt::format("nic{}", port));
    add_sockets();
    add_switches();
    add_gpus();
    add_nics();
    add_nvlinks();
    return std::move(graph_);
  }

 private:
  const LinkType& link(const std::string& name) const {
    const auto it = hardware_.links.find(name);
    FABRICAST_CHECK(it != hardware_.links.end(), "no link type " + name);
    return it->second;
  }

  LinkClass pcie(PcieSlot slot) const {
    // The data covers Gen3 to Gen6. Older generations have a fraction of Gen3's rate.
    const int generation = std::clamp(slot.generation, 3, 6);
    const double older = slot.generation < 3 ? 1.0 / (1 << (3 - slot.generation)) : 1.0;
    return class_of(link(fmt::format("pcie{}", generation)), slot.width / 16.0 * older);
  }

  std::uint16_t vertex_of_hub(int hub) const { return hubs_[static_cast<std::size_t>(hub)]; }

  void add_sockets() {
    hubs_.resize(layout_.hubs.size());
    std::vector<std::size_t> before;
    for (std::size_t h = 0; h < layout_.hubs.size(); ++h) {
      const NodeLayout::Hub& hub = layout_.hubs[h];
      if (hub.parent >= 0) continue;
      const std::string cpu(name_of(hub.cpu));
      hubs_[h] = graph_.add_vertex(NodeVertexKind::socket, fmt::format("cpu{}", before.size()));
      // Host memory is a vertex of its own, because staged traffic crosses it and shares its rate.
      graph_.add_cable(hubs_[h], graph_.add_vertex(NodeVertexKind::memory, fmt::format("dram{}", before.size())),
                       class_of(link("memory-" + cpu)));
      for (const std::size_t other : before)
        // Sockets of one host are fully connected; hosts of a domain are joined by the NVSwitch only.
        if (layout_.hubs[other].host == hub.host)
          graph_.add_cable(hubs_[other], hubs_[h], class_of(link("socket-link-" + cpu)));
      before.push_back(h);
    }
  }

  // Parents come before children in a layout, so the vertex above exists.
  void add_switches() {
    int switches = 0;
    for (std::size_t h = 0; h < layout_.hubs.size(); ++h) {
      const NodeLayout::Hub& hub = layout_.hubs[h];
      if (hub.parent < 0) continue;
      hubs_[h] = graph_.add_vertex(NodeVertexKind::pcie_switch, fmt::format("pcie{}", switches++));
      graph_.add_cable(vertex_of_hub(hub.parent), hubs_[h], pcie(hub.up));
    }
    for (const auto& [a, b] : layout_.peer_links)
      graph_.add_cable(vertex_of_hub(a), vertex_of_hub(b), pcie(layout_.hubs[static_cast<std::size_t>(a)].up));
  }

  void add_gpus() {
    for (int g = 0; g < graph_.gpus; ++g) {
      const NodeLayout::Gpu& gpu = layout_.gpus[static_cast<std::size_t>(g)];
      if (gpu.c2c > 0 || node_.gpu.unified_memory)  // then C2C replaces PCIe
        graph_.add_cable(vertex_of_hub(layout_.socket_of(gpu.hub)), graph_.gpu(g),
                         class_of(link(node_.gpu.c2c.empty() ? "c2c" : node_.gpu.c2c)));
      else
        graph_.add_cable(vertex_of_hub(gpu.hub), graph_.gpu(g), pcie(gpu.slot));
    }
  }

  void add_nics() {
    for (int n = 0; n < graph_.nics; ++n) {
      const NodeLayout::Card& card =
          layout_.cards[static_cast<std::size_t>(layout_.nics[static_cast<std::size_t>(n)].card)];
      LinkClass slot = pcie(card.slot);
      // A NIC faster than the PCIe slots of its GPU's generation has a faster slot: two cards, or a later generation.
      if (!node_.spec.layout)
        slot.rate.value = std::max(slot.rate.value, node_.nic_line_rate.value * node_.header_efficiency);
      graph_.add_cable(vertex_of_hub(card.hub), graph_.nic(n), slot);
    }
  }

  void add_nvlinks() {
    // All NVSwitches of a board act as one: each GPU has links to all of them.
    std::uint16_t nvswitch = 0;
    if (layout_.has_nvswitch()) nvswitch = graph_.add_vertex(NodeVertexKind::nvswitch, "nvswitch");
    for (int g = 0; g < graph_.gpus; ++g)
      for (const NodeLayout::NvLinks& l : layout_.gpus[static_cast<std::size_t>(g)].nvlinks) {
        const LinkClass bundle = class_of(link(node_.gpu.nvlink), l.count);
        if (l.peer == NodeLayout::nvswitch)
          graph_.add_cable(graph_.gpu(g), nvswitch, bundle);
        else if (g < l.peer)  // listed at both GPUs
          graph_.add_cable(graph_.gpu(g), graph_.gpu(l.peer), bundle);
      }
  }

  const NodeLayout& layout_;
  const Node& node_;
  const Hardware& hardware_;
  NodeGraph graph_;
  std::vector<std::uint16_t> hubs_;
};

}  // namespace

NodeGraph build_node_graph(const NodeLayout& layout, const Node& node, const Hardware& hardware) {
  return NodeBuilder(layout, node, hardware).build();
}

}  // namespace fabricast
