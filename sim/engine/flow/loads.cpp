#include "loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "fabricast/core/error.hpp"
#include "fabricast/protocol/costs.hpp"

namespace fabricast {

namespace {

/// Resources with the same capacity and the same history of (channel, count) share an id. Counts are whole numbers of
/// some unit, so ids do not depend on the order in which connections were counted.
class Signatures {
 public:
  std::uint32_t root(double capacity) {
    const auto [it, fresh] = roots_.try_emplace(std::bit_cast<std::uint64_t>(capacity), size());
    if (fresh) entries_.push_back({no_group, 0, 0, capacity});
    return it->second;
  }

  /// The signature `parent` after `count` more uses by `channel`. Channels come one after the other.
  std::uint32_t child(std::uint32_t parent, std::uint32_t channel, std::uint64_t count) {
    if (count >= small_counts) return find_or_add(parent, channel, count);
    const std::size_t slot = parent * small_counts + count;
    if (slot >= recent_.size()) recent_.resize(std::max<std::size_t>(1024, 2 * slot), {no_group, no_group});
    if (recent_[slot].channel != channel) {
      const std::uint32_t id = find_or_add(parent, channel, count);
      recent_[slot] = {channel, id};
    }
    return recent_[slot].id;
  }

  LinkGroup group(std::uint32_t id, std::size_t channels, double unit) const {
    LinkGroup g;
    g.connections.assign(channels, 0);
    for (; entries_[id].parent != no_group; id = entries_[id].parent)
      g.connections[entries_[id].channel] += static_cast<double>(entries_[id].count) * unit;
    g.capacity = entries_[id].capacity;
    return g;
  }
  bool unused(std::uint32_t id) const { return entries_[id].parent == no_group; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }

 private:
  struct Entry {
    std::uint32_t parent, channel;
    std::uint64_t count;
    double capacity;
  };
  struct Key {
    std::uint32_t parent, channel;
    std::uint64_t count;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      return (k.count * 0x9e3779b97f4a7c15ULL) ^ ((std::uint64_t{k.parent} << 8 | k.channel) * 0xbf58476d1ce4e5b9ULL);
    }
  };
  struct Recent {
    std::uint32_t channel, id;
  };
  static constexpr std::uint64_t small_counts = 16;

  std::uint32_t find_or_add(std::uint32_t parent, std::uint32_t channel, std::uint64_t count) {
    const auto [it, fresh] = children_.try_emplace(Key{parent, channel, count}, size());
    if (fresh) entries_.push_back({parent, channel, count, 0});
    return it->second;
  }

  std::vector<Entry> entries_;
  std::unordered_map<std::uint64_t, std::uint32_t> roots_;
  std::unordered_map<Key, std::uint32_t, KeyHash> children_;
  std::vector<Recent> recent_;
};

}  // namespace

/// Counts and times the connections over the fabric.
class NetworkCounter {
 public:
  NetworkCounter(const Communicator& comm, const Plan& plan, const Fabric& fabric, const Router& router,
                 const NetworkSegment& segment)
      : comm_(comm),
        plan_(plan),
        algorithm_(*find_by_algorithm(plan.algorithm)),
        fabric_(fabric),
        router_(router),
        segment_(segment),
        queue_pairs_(static_cast<std::uint32_t>(comm.qps_per_connection)) {
    const std::uint32_t resources = fabric.links() + router.bundles();
    signature_.resize(resources);
    count_.assign(resources, 0);
    blocked_.assign(static_cast<std::size_t>(plan.channels), false);
    const bool nominal = segment.links.all_nominal();
    std::vector<std::uint32_t> by_class;
    for (const LinkClass& c : fabric.classes()) by_class.push_back(signatures_.root(c.rate.value));
    for (std::uint32_t r = 0; r < fabric.links(); ++r) signature_[r] = by_class[fabric.class_index(LinkId(r))];
    for (const auto& [link, factor] : segment.links.factors())
      signature_[link] = signatures_.root(capacity(fabric, router, segment.links, link).value);
    for (std::uint32_t r = fabric.links(); r < resources; ++r)
      signature_[r] = signatures_.root(capacity(fabric, router, nominal ? LinkState{} : segment.links, r).value);
  }

  /// Adds the groups of the fabric's links.
  void count(Loads& loads) {
    for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(plan_.channels); ++c) count_channel(c);
    collect_groups(loads);
    loads.blocked = blocked_;
    seen_.resize(static_cast<std::size_t>(plan_.channels));
  }

  bool uses(LinkId link) const {
    if (!signatures_.unused(signature_[link.value])) return true;
    for (std::uint32_t b = 0; b < router_.bundles(); ++b) {
      const auto [first, count] = router_.bundle(b);
      const bool member = link.value >= first && link.value < first + 2 * count && (link.value - first) % 2 == 0;
      if (member && !signatures_.unused(signature_[fabric_.links() + b])) return true;
    }
    return false;
  }

  const EdgeGroups& edges(std::uint32_t channel) {
    if (seen_[channel].group.empty()) see(channel, seen_[channel]);
    return seen_[channel];
  }

 private:
  /// All flows of an edge: one per queue pair. QP numbers are given out by channel; a QP has two ends.
  template <class Use>
  void for_each_path(std::uint32_t channel, std::size_t edge_index, const NetworkEdge& edge, Use use) {
    Flow flow;
    flow.from = comm_.endpoint(edge.from, edge.from_nic, fabric_.ports_per_node());
    flow.to = comm_.endpoint(edge.to, edge.to_nic, fabric_.ports_per_node());
    for (std::uint32_t q = 0; q < queue_pairs_; ++q) {
      flow.from_qp = queue_pair(static_cast<int>(channel), edge_index, q, queue_pairs_);
      flow.to_qp = flow.from_qp + 2 * queue_pairs_;
      if (router_.route(flow, path_))
        use(path_);
      else if (segment_.faults.empty() || segment_.end == std::numeric_limits<double>::infinity())
        cut(flow);
      else
        blocked_[channel] = true;
    }
  }

  [[noreturn]] void cut(const Flow& flow) const {
    std::string faults;
    for (const Fault& f : segment_.faults) faults += (faults.empty() ? " while " : ", ") + f.target;
    if (!faults.empty()) faults += " is down";
    throw UserError::at(segment_.faults.empty() ? "fabric" : "faults",
                        fmt::format("the fabric is cut: no path from {} to {}{}", fabric_.name(VertexId(flow.from)),
                                    fabric_.name(VertexId(flow.to)), faults));
  }

  void count_channel(std::uint32_t channel) {
    algorithm_.network_edges(comm_, plan_, static_cast<int>(channel), edges_);
    touched_.clear();
    for (std::size_t e = 0; e < edges_.size(); ++e)
      for_each_path(channel, e, edges_[e], [&](const Path& path) {
        for (std::size_t i = 0; i < path.resources.size(); ++i) {
          const std::uint32_t r = path.resources[i];
          if (count_[r] == 0) touched_.push_back(r);
          count_[r] += path.weights.empty() ? 1 : static_cast<std::uint64_t>(path.weights[i] / weight_unit + 0.5);
          weighted_ |= !path.weights.empty();
        }
      });
    for (const std::uint32_t r : touched_) {
      signature_[r] = signatures_.child(signature_[r], channel, count_[r]);
      count_[r] = 0;
    }
  }

  void collect_groups(Loads& loads) {
    group_of_.assign(signatures_.size(), no_group);
    crowd_.assign(loads.groups.size(), 0);
    const double unit = (weighted_ ? weight_unit : 1.0) / queue_pairs_;
    for (std::uint32_t r = 0; r < signature_.size(); ++r) {
      const std::uint32_t s = signature_[r];
      if (signatures_.unused(s)) continue;
      if (group_of_[s] == no_group) {
        group_of_[s] = static_cast<std::uint32_t>(loads.groups.size());
        LinkGroup g = signatures_.group(s, static_cast<std::size_t>(plan_.channels), unit);
        g.capacity = root_capacity(r);
        g.resource = r;
        double connections = 0;
        for (const double n : g.connections) connections += n;
        crowd_.push_back(connections / std::max(g.capacity, 1e-300));
        loads.groups.push_back(std::move(g));
      }
      ++loads.groups[group_of_[s]].members;
    }
  }
  double root_capacity(std::uint32_t r) const { return capacity(fabric_, router_, segment_.links, r).value; }

  void see(std::uint32_t channel, EdgeGroups& out) {
    algorithm_.network_edges(comm_, plan_, static_cast<int>(channel), edges_);
    out.group.resize(edges_.size());
    out.port.resize(edges_.size());
    out.middle.resize(edges_.size());
    out.latency.resize(edges_.size());
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      std::uint32_t worst = no_group, middle = no_group;
      double latency = 0;
      for_each_path(channel, e, edges_[e], [&](const Path& path) {
        for (std::size_t i = 0; i < path.resources.size(); ++i) {
          const std::uint32_t g = group_of_[signature_[path.resources[i]]];
          if (worst == no_group || crowd_[g] > crowd_[worst]) worst = g;
          if (i == 0 || i + 1 == path.resources.size()) continue;
          if (middle == no_group || crowd_[g] > crowd_[middle]) middle = g;
        }
        latency = std::max(latency, path.latency.value);
        out.port[e] = group_of_[signature_[path.resources.front()]];
      });
      out.group[e] = worst, out.middle[e] = middle, out.latency[e] = latency;
    }
  }

  static constexpr double weight_unit = 0x1p-20;
  const Communicator& comm_;
  const Plan plan_;
  const CollectiveAlgorithm& algorithm_;
  const Fabric& fabric_;
  const Router& router_;
  const NetworkSegment& segment_;
  std::uint32_t queue_pairs_;
  bool weighted_ = false;
  std::vector<bool> blocked_;
  Signatures signatures_;
  std::vector<std::uint32_t> signature_, touched_, group_of_;
  std::vector<std::uint64_t> count_;
  std::vector<double> crowd_;
  std::vector<NetworkEdge> edges_;
  std::vector<EdgeGroups> seen_;  ///< by channel; empty: not asked for yet
  Path path_;
};

namespace {

/// Counts what happens inside the nodes, one node per role, and every node with a fault of its own.
void count_inside(const Communicator& comm, const Plan& plan, const NetworkSegment& segment, Loads& loads) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  const NodeGraph& graph = comm.node.graph;
  std::vector<NodeClass> classes = node_classes(comm, plan.algorithm);
  std::map<std::uint32_t, std::vector<NetworkSegment::InsideFactor>> faults;
  for (const auto& f : segment.inside)
    for (std::uint32_t i = 0; i < comm.placement.size(); ++i)
      if (comm.placement[i] == f.node) faults[i / comm.hosts_per_node].push_back(f);
  for (const auto& [node, factors] : faults) classes.push_back({node, 1});

  std::map<std::tuple<NodeTransfer::Kind, int, int>, std::vector<std::uint16_t>> paths;
  const auto path_of = [&](const NodeTransfer& t) -> const std::vector<std::uint16_t>& {
    const auto [it, fresh] = paths.try_emplace({t.kind, t.from, t.to});
    if (fresh) it->second = inside_path(comm, t);
    return it->second;
  };

  const auto channels = static_cast<std::size_t>(plan.channels);
  std::vector<NodeTransfer> transfers;
  std::vector<std::vector<double>> worst(channels);  // crowd of the chosen group, by transfer
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const NodeClass& c = classes[k];
    std::vector<std::uint32_t> group_of(graph.links.size(), no_group);
    std::map<std::pair<std::uint16_t, std::size_t>, std::set<int>> nics;  // by link and place in the list of transfers
    for (std::size_t ch = 0; ch < channels; ++ch) {
      algorithm.node_transfers(comm, plan, static_cast<int>(ch), c.node, transfers);
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        const NodeTransfer& t = transfers[i];
        for (const std::uint16_t l : path_of(t)) {
          if (group_of[l] == no_group) {
            group_of[l] = static_cast<std::uint32_t>(loads.groups.size());
            LinkGroup g;
            double rate = inside_rate(comm, l, t.kind);
            for (const auto& f : faults[c.node])
              if (f.link == l) rate *= f.factor;
            g.capacity = rate, g.connections.assign(channels, 0), g.resource = l, g.node = c.node, g.inside = true;
            g.members = c.count;
            loads.groups.push_back(std::move(g));
          }
          LinkGroup& g = loads.groups[group_of[l]];
          g.connections[ch] += 1;
          if (t.kind == NodeTransfer::Kind::gpu_to_gpu) continue;
          std::set<int>& at_once = nics[{l, i}];
          at_once.insert(t.kind == NodeTransfer::Kind::gpu_to_nic ? t.to : t.from);
          g.nics = std::max(g.nics, static_cast<std::uint32_t>(at_once.size()));
        }
      }
    }
    // The most crowded link of every transfer; nodes of other roles may be worse.
    for (std::size_t ch = 0; ch < channels; ++ch) {
      algorithm.node_transfers(comm, plan, static_cast<int>(ch), c.node, transfers);
      InsideGroups& inside = loads.inside[ch];
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        const auto same = [&](std::size_t j) {
          const NodeTransfer& o = inside.transfers[j];
          return o.kind == transfers[i].kind && o.from == transfers[i].from && o.to == transfers[i].to;
        };
        std::size_t at = 0;
        while (at < inside.transfers.size() && !same(at)) ++at;
        if (at == inside.transfers.size())
          inside.transfers.push_back(transfers[i]), inside.group.push_back(no_group), worst[ch].push_back(0);
        for (const std::uint16_t l : path_of(transfers[i])) {
          const LinkGroup& g = loads.groups[group_of[l]];
          double connections = 0;
          for (const double n : g.connections) connections += n;
          const double crowd = connections / std::max(g.capacity, 1e-300);
          if (crowd > worst[ch][at]) worst[ch][at] = crowd, inside.group[at] = group_of[l];
        }
      }
    }
  }
}

}  // namespace

/// From a GPU to a NIC: where the NIC is far and a peer over NVLink is near it, by that peer (PXN) [NCCL-paths].
static std::vector<std::uint16_t> way_out(const Communicator& comm, int gpu, int nic) {
  const NodeGraph& graph = comm.node.graph;
  if (comm.gdr && comm.node.nvlink && graph.gpu_nic_distance(gpu, nic) > PathType::PXB)
    for (int peer = 0; peer < comm.gpus(); ++peer) {
      if (graph.gpu_nic_distance(peer, nic) > PathType::PXB) continue;
      std::vector<std::uint16_t> way = graph.gpu_to_gpu(gpu, peer);
      const std::vector<std::uint16_t> rest = graph.gpu_to_nic(peer, nic, true);
      way.insert(way.end(), rest.begin(), rest.end());
      return way;
    }
  return graph.gpu_to_nic(gpu, nic, comm.gdr);
}

std::vector<std::uint16_t> inside_path(const Communicator& comm, const NodeTransfer& t) {
  const NodeGraph& graph = comm.node.graph;
  switch (t.kind) {
    case NodeTransfer::Kind::gpu_to_nic: return way_out(comm, t.from, t.to);
    case NodeTransfer::Kind::nic_to_gpu: return graph.nic_to_gpu(t.from, t.to, comm.gdr);
    case NodeTransfer::Kind::gpu_to_gpu: break;
  }
  if (comm.node.nvlink || comm.node.peer_to_peer) return graph.gpu_to_gpu(t.from, t.to);
  // Through host memory: stored by one GPU, loaded by the other.
  const std::uint16_t memory = graph.memory_of_gpu(t.from);
  std::vector<std::uint16_t> way = graph.path(graph.gpu(t.from), memory, false);
  const std::vector<std::uint16_t> out = graph.path(memory, graph.gpu(t.to), false);
  way.insert(way.end(), out.begin(), out.end());
  return way;
}

double inside_rate(const Communicator& comm, std::uint16_t link, NodeTransfer::Kind kind) {
  const LinkClass& c = comm.node.graph.links[link].link_class;
  // What PCIe carries of its payload rate depends on who drives it: GPUs reach less than DMA engines.
  const bool by_gpu = kind == NodeTransfer::Kind::gpu_to_gpu && c.kind == LinkKind::pcie;
  return c.rate.value * (by_gpu ? comm.node.pcie_path.efficiency.value : 1.0);
}

std::uint32_t queue_pair(int channel, std::size_t edge, std::uint32_t pair, std::uint32_t per_connection) {
  return (static_cast<std::uint32_t>(channel) * 8 + static_cast<std::uint32_t>(edge % 2) * 4) * per_connection + pair;
}

Loads count_loads(const Communicator& comm, const Plan& plan, const Fabric* fabric, const Router* router,
                  const NetworkSegment& segment) {
  Loads loads;
  loads.inside.resize(static_cast<std::size_t>(plan.channels));
  loads.blocked.assign(loads.inside.size(), false);
  count_inside(comm, plan, segment, loads);
  if (comm.nodes() > 1) {
    loads.network = std::make_shared<NetworkCounter>(comm, plan, *fabric, *router, segment);
    loads.network->count(loads);
  }
  return loads;
}

const EdgeGroups& Loads::edges(int channel) const {
  static const EdgeGroups none;
  return network ? network->edges(static_cast<std::uint32_t>(channel)) : none;
}

bool Loads::uses(LinkId link) const { return network && network->uses(link); }

std::string group_name(const LinkGroup& group, const Communicator& comm, const Fabric* fabric, const Router* router) {
  if (group.inside)
    return fmt::format("node{}.{}", comm.placement[group.node * comm.hosts_per_node],
                       comm.node.graph.link_name(static_cast<std::uint16_t>(group.resource)));
  return resource_name(*fabric, *router, group.resource);
}

}  // namespace fabricast
