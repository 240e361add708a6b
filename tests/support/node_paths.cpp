#include "node_paths.hpp"

#include <algorithm>
#include <limits>

namespace fabricast::test {

namespace {

enum class Over { pcie, nvlink };

bool forwards(const NodeGraph& graph, std::uint16_t vertex) {
  const NodeVertexKind kind = graph.vertices[vertex].kind;
  return kind == NodeVertexKind::nvswitch || kind == NodeVertexKind::pcie_switch || kind == NodeVertexKind::socket;
}

bool belongs(const NodeGraph::Link& link, Over over) {
  return (link.link_class.kind == LinkKind::nvlink) == (over == Over::nvlink);
}

/// Hops from a vertex to all others, breadth first; -1: there is no way.
std::vector<int> hops_from(const NodeGraph& graph, std::uint16_t from, Over over) {
  std::vector<int> hops(graph.vertices.size(), -1);
  std::vector<std::uint16_t> layer{from};
  hops[from] = 0;
  while (!layer.empty()) {
    std::vector<std::uint16_t> next;
    for (const std::uint16_t here : layer) {
      if (here != from && !forwards(graph, here)) continue;
      for (const NodeGraph::Link& link : graph.links) {
        if (link.from != here || !belongs(link, over) || hops[link.to] >= 0) continue;
        hops[link.to] = hops[here] + 1;
        next.push_back(link.to);
      }
    }
    layer = std::move(next);
  }
  return hops;
}

/// Rate of the widest of the shortest ways to every vertex.
std::vector<double> widths_from(const NodeGraph& graph, std::uint16_t from, Over over, const std::vector<int>& hops) {
  std::vector<double> width(graph.vertices.size(), 0);
  width[from] = std::numeric_limits<double>::infinity();
  const int farthest = *std::max_element(hops.begin(), hops.end());
  for (int h = 0; h < farthest; ++h)
    for (const NodeGraph::Link& link : graph.links) {
      if (hops[link.from] != h || hops[link.to] != h + 1 || !belongs(link, over)) continue;
      if (h > 0 && !forwards(graph, link.from)) continue;
      width[link.to] = std::max(width[link.to], std::min(width[link.from], link.link_class.rate.value));
    }
  return width;
}

NodePath way(const NodeGraph& graph, std::uint16_t from, std::uint16_t to, Over over) {
  const std::vector<int> hops = hops_from(graph, from, over);
  NodePath found;
  if (from == to || hops[to] < 0) return found;
  const std::vector<double> width = widths_from(graph, from, over, hops);
  for (std::uint16_t at = to; at != from;) {
    const auto leads_here = [&](const NodeGraph::Link& link) {
      return link.to == at && hops[link.from] == hops[at] - 1 && belongs(link, over) &&
             (link.from == from || forwards(graph, link.from)) &&
             std::min(width[link.from], link.link_class.rate.value) == width[at];
    };
    const auto link = std::find_if(graph.links.begin(), graph.links.end(), leads_here);
    found.push_back(static_cast<std::uint16_t>(link - graph.links.begin()));
    at = link->from;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

NodePath joined(NodePath first, const NodePath& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

NodePath back(NodePath there) {
  std::reverse(there.begin(), there.end());
  for (std::uint16_t& link : there) link ^= 1;
  return there;
}

}  // namespace

const NodePath& NodePaths::known(Kind kind, int a, int b, NodePath (NodePaths::*find)(int, int) const) {
  const auto [it, fresh] = ways_.try_emplace({kind, a, b});
  if (fresh) it->second = (this->*find)(a, b);
  return it->second;
}
const NodePath& NodePaths::between_gpus(int from, int to) {
  return known(Kind::gpus, from, to, &NodePaths::find_between_gpus);
}
const NodePath& NodePaths::to_nic(int gpu, int nic) { return known(Kind::to_nic, gpu, nic, &NodePaths::find_to_nic); }
const NodePath& NodePaths::from_nic(int nic, int gpu) {
  return known(Kind::from_nic, nic, gpu, &NodePaths::find_from_nic);
}
const NodePath& NodePaths::reduced_to(int gpu) { return known(Kind::reduce, gpu, 0, &NodePaths::find_reduced_to); }
const NodePath& NodePaths::multicast_from(int gpu) {
  return known(Kind::multicast, gpu, 0, &NodePaths::find_multicast_from);
}

NodePath NodePaths::find_between_gpus(int from, int to) const {
  const std::uint16_t a = graph_.gpu(from), b = graph_.gpu(to);
  if (const NodePath nvlinks = way(graph_, a, b, Over::nvlink); !nvlinks.empty() && comm_.node.nvlink) return nvlinks;
  if (comm_.node.route(from, to) == PeerPath::pcie) return way(graph_, a, b, Over::pcie);
  const std::uint16_t memory = memory_near(from);
  return joined(way(graph_, a, memory, Over::pcie), way(graph_, memory, b, Over::pcie));
}

NodePath NodePaths::direct_to_nic(int gpu, int nic, bool gdr) const {
  const std::uint16_t a = graph_.gpu(gpu), b = graph_.nic(nic);
  if (gdr) return way(graph_, a, b, Over::pcie);
  const std::uint16_t memory = memory_near(gpu);
  return joined(way(graph_, a, memory, Over::pcie), way(graph_, memory, b, Over::pcie));
}

NodePath NodePaths::find_to_nic(int gpu, int nic) const {
  const bool gdr = comm_.gdr && comm_.gdr_read;
  const PathType distance = graph_.path_type(direct_to_nic(gpu, nic, true));
  const bool elsewhere = distance == PathType::DIS, far = comm_.pxn && gdr && distance > PathType::P2C;
  if (!comm_.node.nvlink || (!elsewhere && !far)) return direct_to_nic(gpu, nic, gdr);
  const int peer = peer_at(nic, elsewhere ? PathType::DIS : PathType::PXN);
  if (peer < 0) return direct_to_nic(gpu, nic, gdr);
  return joined(find_between_gpus(gpu, peer), direct_to_nic(peer, nic, gdr));
}

/// The GPU nearest to a NIC; of several as near the one whose own it is. -1: none is near enough.
int NodePaths::peer_at(int nic, PathType nearer_than) const {
  std::vector<std::pair<PathType, bool>> place;
  for (int g = 0; g < comm_.gpus(); ++g)
    place.emplace_back(graph_.path_type(direct_to_nic(g, nic, true)),
                       comm_.nic_of_gpu[static_cast<std::size_t>(g)] != nic);
  const auto nearest = std::min_element(place.begin(), place.end());
  return nearest->first < nearer_than ? static_cast<int>(nearest - place.begin()) : -1;
}

/// Received data takes the way back, without PXN.
NodePath NodePaths::find_from_nic(int nic, int gpu) const { return back(direct_to_nic(gpu, nic, comm_.gdr)); }

NodePath NodePaths::find_reduced_to(int gpu, int) const { return back(find_multicast_from(gpu, 0)); }

NodePath NodePaths::find_multicast_from(int gpu, int) const {
  const std::uint16_t nvswitch = graph_.find(NodeVertexKind::nvswitch, 0);
  NodePath links = way(graph_, graph_.gpu(gpu), nvswitch, Over::nvlink);
  for (int g = 0; g < comm_.gpus(); ++g) links = joined(links, way(graph_, nvswitch, graph_.gpu(g), Over::nvlink));
  return links;
}

std::uint16_t NodePaths::memory_near(int gpu) const {
  const std::vector<int> hops = hops_from(graph_, graph_.gpu(gpu), Over::pcie);
  std::uint16_t nearest = 0;
  int least = std::numeric_limits<int>::max();
  for (std::size_t v = 0; v < hops.size(); ++v)
    if (graph_.vertices[v].kind == NodeVertexKind::memory && hops[v] >= 0 && hops[v] < least)
      least = hops[v], nearest = static_cast<std::uint16_t>(v);
  return nearest;
}

}  // namespace fabricast::test
