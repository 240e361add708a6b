#include "link_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"
#include "node_paths.hpp"

namespace fabricast::test {

namespace {

double wire_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll: return 2;
    case Protocol::ll128: return 16.0 / 15;
    case Protocol::simple: break;
  }
  return 1;
}

/// Sums by a number, of which a worker has a few.
class Sums {
 public:
  void add(std::int32_t key, double bytes) {
    const auto it = std::find_if(sums_.begin(), sums_.end(), [&](const auto& sum) { return sum.first == key; });
    if (it == sums_.end())
      sums_.emplace_back(key, bytes);
    else
      it->second += bytes;
  }
  const std::vector<std::pair<std::int32_t, double>>& all() const { return sums_; }

 private:
  std::vector<std::pair<std::int32_t, double>> sums_;
};

/// What one worker sends, and what is done for it elsewhere, bytes of payload.
struct Sent {
  Sums to;  ///< by worker
  double reduced = 0, multicast = 0;
  double in_switches = 0;
};

class Counter {
 public:
  Counter(const NetworkSetup& setup, const Plan& plan, const Router* router)
      : comm_(*setup.comm),
        plan_(plan),
        setup_(setup),
        router_(router),
        algorithm_(*find_by_algorithm(plan.algorithm)),
        ways_(comm_),
        wire_(wire_of(plan.protocol)) {
    if (router) bytes_.fabric.resize(setup.fabric->links() + router->bundles());
    bytes_.inside.assign(static_cast<std::size_t>(comm_.nodes()), std::vector<double>(comm_.node.graph.links.size()));
  }

  LinkBytes operator()() {
    for (int c = 0; c < plan_.channels; ++c) count_channel(c);
    return std::move(bytes_);
  }

 private:
  void count_channel(int channel) {
    const auto program = algorithm_.program(comm_, plan_, channel);
    find_trees(*program);
    const std::vector<NetworkEdge> edges =
        comm_.nodes() > 1 ? list_edges(algorithm_, comm_, plan_, channel) : std::vector<NetworkEdge>();
    for (std::int32_t w = 0; w < program->workers(); ++w) {
      const Sent sent = sent_by(*program, w);
      for (const auto& [to, payload] : sent.to.all()) carry(channel, *program, edges, w, to, wire_ * payload);
      const Place at = place_of(*program, w);
      if (sent.reduced > 0) inside(at.node, ways_.reduced_to(at.gpu), sent.reduced);
      if (sent.multicast > 0) inside(at.node, ways_.multicast_from(at.gpu), sent.multicast);
      if (tree_of(w))
        for (const LinkId link : tree_of(w)->links) bytes_.fabric[link.value] += sent.in_switches;
    }
  }

  /// Workers that are no rank's, but switches that reduce.
  void find_trees(const ChannelProgram& program) {
    trees_.assign(static_cast<std::size_t>(program.workers()), nullptr);
    if (!algorithm_.network_trees) return;
    for (std::int32_t w = 0; w < program.workers(); ++w)
      if (program.steps(w) > 0) trees_[static_cast<std::size_t>(w)] = program.step(w, 0).in_switches;
  }
  const AggregationTree* tree_of(std::int32_t worker) const { return trees_[static_cast<std::size_t>(worker)]; }
  /// There is a tree for every NIC.
  int nic_of(const AggregationTree* tree) const { return static_cast<int>(tree - comm_.sharp.trees.data()); }

  Sent sent_by(const ChannelProgram& program, std::int32_t worker) const {
    Sent sent;
    for (std::int64_t i = 0; i < program.steps(worker); ++i) {
      const Step step = program.step(worker, i);
      const auto bytes = static_cast<double>(step.bytes());
      for (std::size_t k = 0; k < step.to.size(); ++k)
        sent.to.add(step.to[k], step.split ? static_cast<double>(step.ranges[k].size) : bytes);
      const auto beside = [&](std::int32_t other) { return in_one_node(program, worker, other); };
      if (step.in_nvswitch && std::any_of(step.from.begin(), step.from.end(), beside)) sent.reduced += bytes;
      if (step.in_nvswitch && std::any_of(step.to.begin(), step.to.end(), beside)) sent.multicast += bytes;
      if (step.in_switches) sent.in_switches += bytes;
    }
    return sent;
  }

  struct Place {
    std::uint32_t node = 0;
    int gpu = 0;
  };
  Place place_of(const ChannelProgram& program, std::int32_t worker) const {
    const std::uint32_t rank = program.rank_of(worker).value, g = static_cast<std::uint32_t>(comm_.gpus());
    return {rank / g, static_cast<int>(rank % g)};
  }
  bool in_one_node(const ChannelProgram& program, std::int32_t a, std::int32_t b) const {
    return place_of(program, a).node == place_of(program, b).node && !tree_of(a) && !tree_of(b);
  }

  void carry(int channel, const ChannelProgram& program, const std::vector<NetworkEdge>& edges, std::int32_t from,
             std::int32_t to, double bytes) {
    const Place a = place_of(program, from), b = place_of(program, to);
    if (program.is_flag(from, to) || bytes == 0) return;
    // The links of the fabric up to a tree of switches and down from it are the tree's.
    if (tree_of(to)) return inside(a.node, ways_.to_nic(a.gpu, nic_of(tree_of(to))), bytes);
    if (tree_of(from)) return inside(b.node, ways_.from_nic(nic_of(tree_of(from)), b.gpu), bytes);
    if (a.node == b.node) {
      if (a.gpu != b.gpu) inside(a.node, ways_.between_gpus(a.gpu, b.gpu), bytes);
      return;
    }
    const std::vector<std::size_t> between = edges_between(channel, edges, a.node, b.node, program.nics(from, to));
    const NetworkEdge& first = edges[between.front()];
    inside(a.node, ways_.to_nic(a.gpu, first.from_nic), bytes);
    double all = 0;
    for (const std::size_t e : between) all += edges[e].weight;
    for (const std::size_t e : between) route(channel, edges[e], e, bytes * edges[e].weight / all);
    inside(b.node, ways_.from_nic(first.to_nic, b.gpu), bytes);
  }

  /// The connections of a channel between two nodes and the NICs of the first of them. Several pairs of GPUs have one
  /// each, with queue pairs of its own, and which is whose does not matter: they carry the same.
  static std::vector<std::size_t> edges_between(int channel, const std::vector<NetworkEdge>& edges, std::uint32_t from,
                                                std::uint32_t to, const std::array<int, 2>& nics) {
    const auto asked = static_cast<std::uint32_t>(channel);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const NetworkEdge& e = edges[i];
      const bool same_nics = nics[0] < 0 || (e.from_nic == nics[0] && e.to_nic == nics[1]);
      if (e.channel_or(asked) != asked || e.from != from || e.to != to || !same_nics) continue;
      const NetworkEdge& first = found.empty() ? e : edges[found.front()];
      if (e.from_nic == first.from_nic && e.to_nic == first.to_nic) found.push_back(i);
    }
    FABRICAST_CHECK(!found.empty(), "a message between nodes without a connection");
    return found;
  }

  /// Each queue pair takes its part. Pairs are numbered by channel, and apart for a channel's even and odd connections.
  void route(int channel, const NetworkEdge& edge, std::size_t number, double bytes) {
    const auto pairs = static_cast<std::uint32_t>(comm_.qps_per_connection);
    const std::uint32_t ports = setup_.fabric->ports_per_node(),
                        c = edge.channel_or(static_cast<std::uint32_t>(channel));
    const auto odd = static_cast<std::uint32_t>(number % 2);
    const std::uint32_t first = comm_.first_qp * pairs + (8 * c + 4 * odd) * pairs;
    Flow flow{comm_.endpoint(edge.from, edge.from_nic, ports), comm_.endpoint(edge.to, edge.to_nic, ports)};
    for (std::uint32_t q = 0; q < pairs; ++q) {
      flow.from_qp = first + q, flow.to_qp = first + q + 2 * pairs;
      FABRICAST_CHECK(router_->route(flow, path_), "a message without a way");
      for (std::size_t i = 0; i < path_.resources.size(); ++i)
        bytes_.fabric[path_.resources[i]] += path_.weight(i) * bytes / pairs;
    }
  }

  void inside(std::uint32_t node, const NodePath& way, double bytes) {
    for (const std::uint16_t link : way) bytes_.inside[node][link] += bytes;
  }

  const Communicator& comm_;
  const Plan& plan_;
  const NetworkSetup& setup_;
  const Router* router_;
  const CollectiveAlgorithm& algorithm_;
  NodePaths ways_;
  double wire_;
  std::vector<const AggregationTree*> trees_;  ///< by worker of the channel; null: a rank's
  Path path_;
  LinkBytes bytes_;
};

/// B/s of a link of the fabric, or of all cables that a router spreads traffic over: if evenly, the slowest one that is
/// up holds all of them.
double rate_of(const Fabric& fabric, const Router& router, const LinkState& state, std::uint32_t resource) {
  const auto rate = [&](std::uint32_t link) { return fabric.link_class(LinkId(link)).rate.value * state.factor(link); };
  if (resource < fabric.links()) return rate(resource);
  const Router::Bundle bundle = router.bundle(resource - fabric.links());
  std::vector<double> up;
  for (std::uint32_t i = 0; i < bundle.count; ++i)
    if (const double own = rate(bundle.first + 2 * i); own > 0) up.push_back(own);
  double sum = 0;
  for (const double own : up) sum += own;
  return router.even() ? static_cast<double>(up.size()) * *std::min_element(up.begin(), up.end()) : sum;
}

double rate_inside(const Communicator& comm, const NetworkSegment& segment, std::uint32_t node, std::size_t link) {
  double rate = comm.node.graph.links[link].link_class.rate.value;
  for (const NetworkSegment::InsideFactor& f : segment.inside)
    if (f.link == link && comm.has_host(node, f.node)) rate *= f.factor;
  return rate;
}

}  // namespace

LinkBytes count_link_bytes(const NetworkSetup& setup, const Plan& plan, const Router* router) {
  return Counter(setup, plan, router)();
}

LongestLink longest_link(const NetworkSetup& setup, const Router* router, const LinkBytes& bytes) {
  const NetworkSegment& segment = setup.segments.front();
  LongestLink longest;
  for (std::uint32_t r = 0; r < bytes.fabric.size(); ++r) {
    if (bytes.fabric[r] == 0) continue;
    const double seconds = bytes.fabric[r] / rate_of(*setup.fabric, *router, segment.links, r);
    if (seconds > longest.seconds) longest = {seconds, resource_name(*setup.fabric, *router, r)};
  }
  for (std::uint32_t node = 0; node < bytes.inside.size(); ++node)
    for (std::uint16_t l = 0; l < bytes.inside[node].size(); ++l) {
      if (bytes.inside[node][l] == 0) continue;
      const double seconds = bytes.inside[node][l] / rate_inside(*setup.comm, segment, node, l);
      if (seconds > longest.seconds)
        longest = {seconds, fmt::format("NCCL node {}, {}", node, setup.comm->node.graph.link_name(l))};
    }
  return longest;
}

std::int64_t steps_of(const Communicator& comm, const Plan& plan) {
  std::int64_t steps = 0;
  for (int c = 0; c < plan.channels; ++c) {
    const auto program = find_by_algorithm(plan.algorithm)->program(comm, plan, c);
    for (std::int32_t w = 0; w < program->workers(); ++w) steps += program->steps(w);
  }
  return steps;
}

}  // namespace fabricast::test
