#include "fabricast/fabric/node_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <tuple>

#include "fabricast/core/error.hpp"

namespace fabricast {

std::uint16_t NodeGraph::add_vertex(NodeVertexKind kind, std::string name) {
  vertices.push_back({kind, std::move(name)});
  return static_cast<std::uint16_t>(vertices.size() - 1);
}

void NodeGraph::add_cable(std::uint16_t a, std::uint16_t b, const LinkClass& link_class) {
  links.push_back({a, b, link_class});
  links.push_back({b, a, link_class});
}

std::uint16_t NodeGraph::find(NodeVertexKind kind, int i) const {
  for (std::size_t v = 0; v < vertices.size(); ++v)
    if (vertices[v].kind == kind && i-- == 0) return static_cast<std::uint16_t>(v);
  FABRICAST_CHECK(false, "no such vertex in the node");
}

std::vector<std::uint16_t> NodeGraph::path(std::uint16_t from, std::uint16_t to, bool nvlink) const {
  struct Best {
    int hops = std::numeric_limits<int>::max();
    double rate = 0;
    std::uint16_t link = 0;
  };
  const auto transit = [&](std::uint16_t v) {
    const NodeVertexKind kind = vertices[v].kind;
    return v == from || (kind != NodeVertexKind::gpu && kind != NodeVertexKind::nic && kind != NodeVertexKind::memory);
  };
  std::vector<Best> best(vertices.size());
  best[from] = {0, std::numeric_limits<double>::infinity(), 0};
  // Bellman-Ford on (hops, -rate): nodes have a few dozen links.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t l = 0; l < links.size(); ++l) {
      const Link& link = links[l];
      const Best& here = best[link.from];
      if (here.hops == std::numeric_limits<int>::max() || !transit(link.from)) continue;
      if (!nvlink && link.link_class.kind == LinkKind::nvlink) continue;
      const int hops = here.hops + 1;
      const double rate = std::min(here.rate, link.link_class.rate.value);
      Best& there = best[link.to];
      if (hops < there.hops || (hops == there.hops && rate > there.rate))
        there = {hops, rate, static_cast<std::uint16_t>(l)}, changed = true;
    }
  }
  std::vector<std::uint16_t> path;
  if (best[to].hops == std::numeric_limits<int>::max()) return path;
  for (std::uint16_t v = to; v != from; v = links[best[v].link].from) path.push_back(best[v].link);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::uint16_t> NodeGraph::gpu_to_gpu(int a, int b) const {
  std::vector<std::uint16_t> direct = path(gpu(a), gpu(b), true);
  // NVLink or nothing of it: a path that mixes NVLink and PCIe does not exist for peer copies.
  const auto is_nvlink = [&](std::uint16_t l) { return links[l].link_class.kind == LinkKind::nvlink; };
  if (!direct.empty() && std::all_of(direct.begin(), direct.end(), is_nvlink)) return direct;
  return path(gpu(a), gpu(b), false);
}

std::uint16_t NodeGraph::memory_of_gpu(int g) const {
  std::uint16_t nearest = 0;
  std::size_t hops = std::numeric_limits<std::size_t>::max();
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    if (vertices[v].kind != NodeVertexKind::memory) continue;
    const auto way = path(gpu(g), static_cast<std::uint16_t>(v), false);
    if (!way.empty() && way.size() < hops) hops = way.size(), nearest = static_cast<std::uint16_t>(v);
  }
  return nearest;
}

std::vector<std::uint16_t> NodeGraph::gpu_to_nic(int g, int n, bool gdr) const {
  if (gdr) return path(gpu(g), nic(n), false);
  const std::uint16_t memory = memory_of_gpu(g);
  std::vector<std::uint16_t> way = path(gpu(g), memory, false);
  const std::vector<std::uint16_t> out = path(memory, nic(n), false);
  way.insert(way.end(), out.begin(), out.end());
  return way;
}

std::vector<std::uint16_t> NodeGraph::nic_to_gpu(int n, int g, bool gdr) const {
  std::vector<std::uint16_t> way = gpu_to_nic(g, n, gdr);
  std::reverse(way.begin(), way.end());
  for (std::uint16_t& link : way) link ^= 1;
  return way;
}

PathType NodeGraph::path_type(const std::vector<std::uint16_t>& way) const {
  if (way.empty()) return PathType::LOC;
  int nvlinks = 0, switches = 0, sockets = 0, crossings = 0;
  bool pcie = false, c2c = false;
  for (const std::uint16_t l : way) {
    const LinkKind kind = links[l].link_class.kind;
    nvlinks += kind == LinkKind::nvlink;
    crossings += kind == LinkKind::cpu_interconnect;
    pcie |= kind == LinkKind::pcie;
    c2c |= kind == LinkKind::c2c;
    switches += vertices[links[l].to].kind == NodeVertexKind::pcie_switch;
    sockets += vertices[links[l].to].kind == NodeVertexKind::socket;
  }
  if (!pcie && !c2c && crossings == 0)
    return nvlinks == 1 || vertices[links[way.front()].to].kind == NodeVertexKind::nvswitch ? PathType::NVL
                                                                                            : PathType::NVB;
  if (crossings > 0) return PathType::SYS;
  if (c2c) return pcie ? PathType::P2C : PathType::C2C;
  if (sockets > 0) return PathType::PHB;
  return switches <= 1 ? PathType::PIX : PathType::PXB;
}

std::vector<int> NodeGraph::nics_by_distance(int g) const {
  std::vector<int> order(static_cast<std::size_t>(nics));
  for (int n = 0; n < nics; ++n) order[static_cast<std::size_t>(n)] = n;
  const auto key = [&](int n) {
    // GPUs at the same distance of several NICs take them in proportion to their own index.
    const int wanted = nics >= gpus ? g * (nics / gpus) : g * nics / gpus;
    return std::tuple(gpu_nic_distance(g, n), gpu_to_nic(g, n, true).size(), std::abs(n - wanted), n);
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  return order;
}

std::string NodeGraph::link_name(std::uint16_t link) const {
  return fmt::format("{}-{}", vertices[links[link].from].name, vertices[links[link].to].name);
}

}  // namespace fabricast
