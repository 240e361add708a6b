// Paths inside a node, and NCCL's path types and order of NICs.
//
// A node has a few dozen vertices, so paths are computed when asked for. Devices do not forward traffic, except that
// NVLink may pass through one GPU. The order of preference (hops, rate, number) makes paths unique; NCCL's own order,
// by type first, is used by the planner's search (models/planner/nccl_system.cpp), where channels are chosen.
#include "fabricast/fabric/node_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
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
  FABRICAST_CHECK(false, "the node has no such vertex");
}

NodeGraph NodeGraph::restricted_to(const std::vector<int>& used_gpus, const std::vector<int>& used_nics) const {
  NodeGraph part = *this;
  // Vertices of a kind change places. Unused ones stay in the graph, but no path uses them.
  std::vector<std::uint16_t> place(vertices.size());
  std::iota(place.begin(), place.end(), std::uint16_t{0});
  const auto reorder = [&](NodeVertexKind kind, int count, const std::vector<int>& used) {
    std::vector<int> order = used;
    for (int i = 0; i < count; ++i)
      if (std::find(used.begin(), used.end(), i) == used.end()) order.push_back(i);
    for (int i = 0; i < count; ++i) place[find(kind, order[static_cast<std::size_t>(i)])] = find(kind, i);
  };
  reorder(NodeVertexKind::gpu, gpus, used_gpus);
  reorder(NodeVertexKind::nic, nics, used_nics);
  for (std::size_t v = 0; v < vertices.size(); ++v) part.vertices[place[v]] = vertices[v];
  for (Link& link : part.links) {
    link.from = place[link.from];
    link.to = place[link.to];
  }
  // GPUs keep their numbers of the machine, by which they choose NICs.
  part.numbers.clear();
  for (const int g : used_gpus) part.numbers.push_back(number(g));
  part.installed = machine_gpus();
  part.gpus = static_cast<int>(used_gpus.size());
  part.nics = static_cast<int>(used_nics.size());
  return part;
}

namespace {

constexpr int unreached = std::numeric_limits<int>::max();

/// The best path to a vertex.
struct Reach {
  int hops = unreached;
  double rate = 0;         ///< minimum over its links, B/s
  std::uint16_t link = 0;  ///< its last link
};

/// The best paths from a vertex to all others: fewest hops, then the highest rate, then the lowest links.
std::vector<Reach> reach_from(const NodeGraph& graph, std::uint16_t from, bool nvlink) {
  // Only switches and sockets forward.
  const auto transit = [&](std::uint16_t v) {
    const NodeVertexKind kind = graph.vertices[v].kind;
    return v == from || (kind != NodeVertexKind::gpu && kind != NodeVertexKind::nic && kind != NodeVertexKind::memory);
  };
  std::vector<Reach> best(graph.vertices.size());
  best[from] = {0, std::numeric_limits<double>::infinity(), 0};
  // Bellman-Ford, which takes few rounds because paths in a node have few hops.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t l = 0; l < graph.links.size(); ++l) {
      const NodeGraph::Link& link = graph.links[l];
      const Reach& here = best[link.from];
      if (here.hops == unreached || !transit(link.from)) continue;
      if (!nvlink && link.link_class.kind == LinkKind::nvlink) continue;
      const int hops = here.hops + 1;
      const double rate = std::min(here.rate, link.link_class.rate.value);
      Reach& there = best[link.to];
      if (hops < there.hops || (hops == there.hops && rate > there.rate)) {
        there = {hops, rate, static_cast<std::uint16_t>(l)};
        changed = true;
      }
    }
  }
  return best;
}

/// The links of the best path to a vertex; empty if there is none.
std::vector<std::uint16_t> path_to(const NodeGraph& graph, const std::vector<Reach>& best, std::uint16_t from,
                                   std::uint16_t to) {
  std::vector<std::uint16_t> route;
  if (best[to].hops == unreached) return route;
  for (std::uint16_t v = to; v != from; v = graph.links[best[v].link].from) route.push_back(best[v].link);
  std::reverse(route.begin(), route.end());
  return route;
}

}  // namespace

std::vector<std::uint16_t> NodeGraph::path(std::uint16_t from, std::uint16_t to, bool nvlink) const {
  return path_to(*this, reach_from(*this, from, nvlink), from, to);
}

// One NVLink, or two through the NVSwitch. On a graph without NVSwitch, the path may contain PCIe and is then not an
// NVLink path.
std::vector<std::uint16_t> NodeGraph::nvlinks_between(int a, int b) const {
  std::vector<std::uint16_t> route = path(gpu(a), gpu(b), true);
  const auto is_nvlink = [&](std::uint16_t l) { return links[l].link_class.kind == LinkKind::nvlink; };
  return std::all_of(route.begin(), route.end(), is_nvlink) ? route : std::vector<std::uint16_t>();
}

std::vector<std::uint16_t> NodeGraph::nvlinks_by_peer(int a, int b) const {
  const std::uint16_t from = gpu(a), to = gpu(b);
  std::vector<std::uint16_t> best;
  double most = 0;
  // The peer over which the slower of two links is fastest; of equal ones the lowest number.
  for (int peer = 0; peer < gpus; ++peer) {
    const std::uint16_t by = gpu(peer);
    std::vector<std::uint16_t> route;
    double rate = std::numeric_limits<double>::infinity();
    for (const auto& [here, next] : {std::pair(from, by), std::pair(by, to)})
      for (std::size_t l = 0; l < links.size(); ++l)
        if (links[l].from == here && links[l].to == next && links[l].link_class.kind == LinkKind::nvlink) {
          route.push_back(static_cast<std::uint16_t>(l));
          rate = std::min(rate, links[l].link_class.rate.value);
          break;
        }
    if (route.size() == 2 && rate > most) {
      most = rate;
      best = std::move(route);
    }
  }
  return best;
}

std::vector<std::uint16_t> NodeGraph::gpu_to_gpu(int a, int b) const {
  // Either NVLink only or PCIe only: peer copies have no path that mixes the two.
  std::vector<std::uint16_t> route = nvlinks_between(a, b);
  if (route.empty()) route = nvlinks_by_peer(a, b);
  return route.empty() ? path(gpu(a), gpu(b), false) : route;
}

std::vector<std::uint16_t> NodeGraph::to_root(std::uint16_t from) const {
  const std::vector<Reach> best = reach_from(*this, from, false);
  std::uint16_t nearest = from;
  int hops = unreached;
  for (std::size_t v = 0; v < vertices.size(); ++v)
    if (vertices[v].kind == NodeVertexKind::socket && best[v].hops < hops) {
      hops = best[v].hops;
      nearest = static_cast<std::uint16_t>(v);
    }
  return path_to(*this, best, from, nearest);
}

// ACS: a switch may not connect two of its ports directly. It sends requests up to the root complex, which returns
// them, so the links above the switch carry the traffic in both directions.
std::vector<std::uint16_t> NodeGraph::by_root_complex(const std::vector<std::uint16_t>& route) const {
  std::vector<std::uint16_t> redirected;
  for (std::size_t i = 0; i < route.size(); ++i) {
    redirected.push_back(route[i]);
    const std::uint16_t here = links[route[i]].to;
    if (i + 1 == route.size() || vertices[here].kind != NodeVertexKind::pcie_switch) continue;
    const std::vector<std::uint16_t> up = to_root(here);
    // Only a path that turns downwards at this switch does not pass the root complex before or after it.
    if (up.empty() || route[i + 1] == up.front() || route[i] == (up.front() ^ 1)) continue;
    redirected.insert(redirected.end(), up.begin(), up.end());
    for (auto link = up.rbegin(); link != up.rend(); ++link) redirected.push_back(*link ^ 1);
  }
  return redirected;
}

std::uint16_t NodeGraph::memory_of_gpu(int g) const {
  const std::vector<Reach> best = reach_from(*this, gpu(g), false);
  std::uint16_t nearest = 0;
  int hops = unreached;
  for (std::size_t v = 0; v < vertices.size(); ++v)
    if (vertices[v].kind == NodeVertexKind::memory && best[v].hops < hops) {
      hops = best[v].hops;
      nearest = static_cast<std::uint16_t>(v);
    }
  return nearest;
}

std::vector<std::uint16_t> NodeGraph::gpu_to_nic(int g, int n, bool gdr) const {
  if (gdr) return path(gpu(g), nic(n), false);
  const std::uint16_t memory = memory_of_gpu(g);
  std::vector<std::uint16_t> route = path(gpu(g), memory, false);
  const std::vector<std::uint16_t> out = path(memory, nic(n), false);
  route.insert(route.end(), out.begin(), out.end());
  return route;
}

std::vector<std::uint16_t> NodeGraph::nic_to_gpu(int n, int g, bool gdr) const {
  std::vector<std::uint16_t> route = gpu_to_nic(g, n, gdr);
  std::reverse(route.begin(), route.end());
  for (std::uint16_t& link : route) link ^= 1;
  return route;
}

PathType NodeGraph::path_type(const std::vector<std::uint16_t>& route) const {
  if (route.empty()) return PathType::DIS;
  int nvlinks = 0, switches = 0, sockets = 0, crossings = 0;
  bool pcie = false, c2c = false;
  for (const std::uint16_t l : route) {
    const LinkKind kind = links[l].link_class.kind;
    nvlinks += kind == LinkKind::nvlink;
    crossings += kind == LinkKind::cpu_interconnect;
    pcie |= kind == LinkKind::pcie;
    c2c |= kind == LinkKind::c2c;
    switches += vertices[links[l].to].kind == NodeVertexKind::pcie_switch;
    sockets += vertices[links[l].to].kind == NodeVertexKind::socket;
  }
  // Only NVLinks: one, or two through the NVSwitch (NVL), or two through a GPU (NVB).
  if (!pcie && !c2c && crossings == 0)
    return nvlinks == 1 || vertices[links[route.front()].to].kind == NodeVertexKind::nvswitch ? PathType::NVL
                                                                                              : PathType::NVB;
  // The farthest part decides: sockets, then C2C with a PCIe device behind the CPU, then a root port, then one switch
  // or several.
  if (crossings > 0) return PathType::SYS;
  if (c2c) return pcie ? PathType::P2C : PathType::C2C;
  if (sockets > 0) return PathType::PHB;
  return switches <= 1 ? PathType::PIX : PathType::PXB;
}

std::vector<int> NodeGraph::nics_by_distance(int g) const {
  const std::uint16_t from = gpu(g);
  const std::vector<Reach> best = reach_from(*this, from, false);
  // GPUs at the same distance from several NICs use them in proportion to their own number.
  const int own = number(g), all = machine_gpus();
  const int wanted = nics >= all ? own * (nics / std::max(1, all)) : own * nics / all;
  std::vector<std::tuple<PathType, int, int, int>> keys;
  for (int n = 0; n < nics; ++n) {
    const std::uint16_t to = nic(n);
    keys.emplace_back(path_type(path_to(*this, best, from, to)), best[to].hops, std::abs(n - wanted), n);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int> order;
  for (const auto& key : keys) order.push_back(std::get<3>(key));
  return order;
}

PathType NodeGraph::nearest_nic_distance(int g) const {
  const std::vector<int> order = nics_by_distance(g);
  return order.empty() ? PathType::DIS : gpu_nic_distance(g, order.front());
}

std::string NodeGraph::link_name(std::uint16_t link) const {
  return fmt::format("{}-{}", vertices[links[link].from].name, vertices[links[link].to].name);
}

}  // namespace fabricast
