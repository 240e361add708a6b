// Loads: how often each channel crosses each link, folded.
//
// Millions of links have few distinct loads. Links with the same capacity and the same connections of every channel
// form one *group*, and sharing is solved over groups. Paths are not stored: connections are hashed once for counting
// and again for timing their hops [solver-study-3].
//
//   links k and l of the fabric are in one group  if  C_k = C_l  and  m_kc = m_lc  for every channel c              (1)
//
// with m_lc, the connections of c on l, as in fabric_count.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/engine/max_min.hpp"
#include "fabricast/engine/network.hpp"

namespace fabricast {

inline constexpr std::uint32_t no_group = no_link;

/// Links that are alike to every channel.
struct LinkGroup {
  double capacity = 0;              ///< B/s
  std::vector<double> connections;  ///< on each link, by channel
  std::uint32_t members = 0;
  std::uint32_t resource = 0;  ///< one of them: resource of the router, or link of the node graph if `inside`
  std::uint32_t node = 0;      ///< if inside: a node of the job
  bool inside = false;
  std::uint32_t nics = 0;   ///< if inside: NICs that send or receive over it at once
  double between_gpus = 0;  ///< if inside: fraction of the connections that neither begin nor end at a NIC

  /// Connections per B/s. The most loaded of several links has the highest value.
  double contention() const {
    return std::accumulate(connections.begin(), connections.end(), 0.0) / std::max(capacity, 1e-300);
  }
};

struct EdgeRoutes;

/// The network connections of one channel as its stations see them. Connections with the same route share a view.
struct EdgeGroups {
  struct View {
    std::uint32_t group = no_group;   ///< the most loaded group of the path, by LinkGroup::contention
    std::uint32_t port = no_group;    ///< the group of the sending NIC's port
    std::uint32_t middle = no_group;  ///< the most loaded group between switches; no_group: there is none
    double latency = 0;               ///< s, of the fabric
    bool operator==(const View&) const = default;
  };
  std::shared_ptr<const EdgeRoutes> routes;  ///< null: not requested yet
  std::vector<View> views;                   ///< by route

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  std::uint32_t route(std::size_t edge) const;
  const View& of(std::size_t edge) const { return views[route(edge)]; }
};

/// The transfers of a channel inside a node, in the algorithm's order, each with its most loaded group.
struct InsideGroups {
  std::vector<NodeTransfer> transfers;
  std::vector<std::uint32_t> group;  ///< no_group if it crosses no link
};

class NetworkCounter;

/// The loads of a plan in one state of the network.
struct Loads {
  std::vector<LinkGroup> groups;
  bool alone = false;                ///< no transfer meets another (the bound engine)
  std::vector<bool> blocked;         ///< by channel: it waits for a link that is down and will come back
  std::vector<InsideGroups> inside;  ///< by channel: the most loaded groups over all nodes
  /// If some nodes have a fault of their own: by channel, over the nodes without one.
  std::vector<InsideGroups> usual_inside;
  std::map<std::uint32_t, std::vector<InsideGroups>> faulty_inside;  ///< by node with a fault of its own, then channel
  /// The connections of a channel. They are hashed at the first request and kept.
  const EdgeGroups& edges(int channel) const;
  /// s; mean over the paths and reducing trees of a channel; 0 if it is counted by its edge set.
  double mean_latency(int channel) const;
  /// Whether some connection crosses a link of the fabric, alone or as one of a bundle.
  bool uses(LinkId link) const;

  std::shared_ptr<NetworkCounter> network;  ///< null on a single node
};

/// The links of the node graph that a transfer inside a node crosses, with NCCL's detours (host memory, PXN).
std::vector<std::uint16_t> inside_path(const Communicator& comm, const NodeTransfer& transfer);

/// A cache of the paths of a communicator's transfers. Not safe to use from several threads.
class InsidePaths {
 public:
  using Key = std::tuple<NodeTransfer::Kind, int, int>;
  explicit InsidePaths(const Communicator& comm) : comm_(&comm) {}
  const std::vector<std::uint16_t>& of(const NodeTransfer& transfer);

 private:
  const Communicator* comm_;
  std::map<Key, std::vector<std::uint16_t>> paths_;
};

class SharedCount;

/// The plan, with a single channel if one stream stands for all (CollectiveAlgorithm::one_stream).
Plan plan_of_streams(Plan plan);

/// The loads of a plan, inside the nodes and on the fabric.
/// \param count    a count of the fabric's links, if there is one already
/// \param threads  number of threads that count
/// \throws UserError if a connection has no path and the faults do not end
Loads count_loads(const Communicator& comm, const Plan& plan, const Fabric* fabric, const Router* router,
                  const NetworkSegment& segment, InsidePaths& paths, std::shared_ptr<SharedCount> count = nullptr,
                  std::size_t threads = 1);

/// Adds the loads inside the nodes: one node per role, and every node with a fault of its own.
void count_inside(const Communicator& comm, const Plan& plan, const NetworkSegment& segment, InsidePaths& paths,
                  Loads& loads);
/// B/s; rate of a link inside a node of the job for a transfer, faults included.
double inside_rate(const Communicator& comm, const NetworkSegment& segment, std::uint32_t node, std::uint16_t link,
                   const NodeTransfer& transfer);
/// The flow of one queue pair of a connection.
Flow flow_of(const Communicator& comm, const Fabric& fabric, const NetworkEdge& edge, std::uint32_t channel,
             std::size_t edge_index, std::uint32_t pair);

/// Calls use(edge, flow) for every queue pair of a channel, connection by connection.
/// \pre the plan's algorithm lists its connections
template <class Use>
void for_each_queue_pair(const Communicator& comm, const Plan& plan, const Fabric& fabric, std::uint32_t channel,
                         Use use) {
  const auto pairs = static_cast<std::uint32_t>(comm.qps_per_connection);
  std::size_t e = 0;
  find_by_algorithm(plan.algorithm)->network_edges(comm, plan, static_cast<int>(channel), [&](const NetworkEdge& edge) {
    for (std::uint32_t q = 0; q < pairs; ++q) use(edge, flow_of(comm, fabric, edge, channel, e, q));
    ++e;
  });
}
/// What the weights of a plan's connections are multiples of (CollectiveAlgorithm::message_weight); 1 if nothing is said.
double message_weight_of(const Plan& plan);

/// Whether a resource of a router is the link of a NIC port.
bool is_port(const Fabric& fabric, std::uint32_t resource);
/// B/s; rate of a resource in a segment, faults included.
double rate_of(const Fabric& fabric, const Router& router, const NetworkSegment& segment, std::uint32_t resource);

/// Name of a group's link for reports, such as `leaf3-spine1` or `node0.gpu0-nvswitch`.
std::string group_name(const LinkGroup& group, const Communicator& comm, const Fabric* fabric, const Router* router);

}  // namespace fabricast
