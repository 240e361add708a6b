// Loads: how often each channel crosses each link, folded.
//
// Millions of links have few distinct loads. Links with the same capacity and the same connections of every channel are
// one *group*; sharing is solved over groups. Paths are not stored: connections are hashed once to count and once more
// to time their hops [solver-study-3].
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

/// Links that look alike to every channel.
struct LinkGroup {
  double capacity = 0;              ///< B/s
  std::vector<double> connections;  ///< by channel, with multiplicity
  std::uint32_t members = 0;
  std::uint32_t resource = 0;  ///< one of them: of the router, or of the node graph if `inside`
  std::uint32_t node = 0;      ///< if inside: which node of the job
  bool inside = false;
  std::uint32_t nics = 0;   ///< if inside: NICs that send or receive over it at once
  double between_gpus = 0;  ///< if inside: the part of all connections that neither begins nor ends at a NIC

  /// Connections per B/s: what tells which of several links is the most crowded.
  double contention() const {
    return std::accumulate(connections.begin(), connections.end(), 0.0) / std::max(capacity, 1e-300);
  }
};

struct EdgeRoutes;

/// The network connections of one channel as its stations see them. Many see the same.
struct EdgeGroups {
  struct View {
    std::uint32_t group = no_group;   ///< where the path is most crowded: the group with most connections per B/s
    std::uint32_t port = no_group;    ///< the sending NIC's group
    std::uint32_t middle = no_group;  ///< the most crowded group between switches; no_group: the path has none
    double latency = 0;               ///< s, of the fabric
    bool operator==(const View&) const = default;
  };
  std::shared_ptr<const EdgeRoutes> ways;  ///< null: not looked at yet
  std::vector<View> views;               ///< by way

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  std::uint32_t way(std::size_t edge) const;
  const View& of(std::size_t edge) const { return views[way(edge)]; }
};

/// What a channel does inside a node: for every transfer, in the algorithm's order, its most crowded group.
struct InsideGroups {
  std::vector<NodeTransfer> transfers;
  std::vector<std::uint32_t> group;  ///< no_group if it crosses no link
};

class NetworkCounter;

struct Loads {
  std::vector<LinkGroup> groups;
  bool alone = false;                      ///< no transfer meets another: the bound
  std::vector<bool> blocked;               ///< by channel: it waits for a link that is down, and comes back
  std::vector<InsideGroups> inside;        ///< by channel: of the worst node
  std::vector<InsideGroups> usual_inside;  ///< the same of the nodes without a fault of their own, if others have one
  std::map<std::uint32_t, std::vector<InsideGroups>> faulty_inside;  ///< of each of the others, by channel
  /// What one channel's connections see: they are hashed once more, and kept for the next call.
  const EdgeGroups& edges(int channel) const;
  /// s; mean over the paths and reducing trees of a channel; 0 if it is counted by its edge set.
  double mean_latency(int channel) const;
  /// Whether some connection crosses a link of the fabric, by itself or as one of a bundle.
  bool uses(LinkId link) const;

  std::shared_ptr<NetworkCounter> network;  ///< null on a single node
};

/// Links of the node graph that a transfer inside a node crosses, with NCCL's detours (host memory, PXN).
std::vector<std::uint16_t> inside_path(const Communicator& comm, const NodeTransfer& transfer);

/// The paths of a communicator's transfers, each found once.
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

/// The plan with one channel where one stream stands for all: they work on the same messages, as of sends and receives.
Plan plan_of_streams(Plan plan);

/// \param count  of the fabric's links, if there is one already. \param threads  that may count them
/// \throws UserError if a connection has no path, and no fault ends.
Loads count_loads(const Communicator& comm, const Plan& plan, const Fabric* fabric, const Router* router,
                  const NetworkSegment& segment, InsidePaths& paths, std::shared_ptr<SharedCount> count = nullptr,
                  std::size_t threads = 1);

/// Counts what happens inside the nodes, one node per role, and every node with a fault of its own.
void count_inside(const Communicator& comm, const Plan& plan, const NetworkSegment& segment, InsidePaths& paths,
                  Loads& loads);
/// Rate of a link inside a node of the job for such a transfer, faults included, B/s.
double inside_rate(const Communicator& comm, const NetworkSegment& segment, std::uint32_t node, std::uint16_t link,
                   const NodeTransfer& transfer);
/// What the fabric sees of a connection of a channel: the flow of one of its queue pairs. They are numbered by channel
/// and edge; a queue pair has two ends.
Flow flow_of(const Communicator& comm, const Fabric& fabric, const NetworkEdge& edge, std::uint32_t channel,
             std::size_t edge_index, std::uint32_t pair);

/// Whether a resource of a router is the link of a NIC port.
bool is_port(const Fabric& fabric, std::uint32_t resource);
/// B/s of a resource in a segment.
double rate_of(const Fabric& fabric, const Router& router, const NetworkSegment& segment, std::uint32_t resource);

/// `leaf3-spine1` or `node0.gpu0-nvswitch`.
std::string group_name(const LinkGroup& group, const Communicator& comm, const Fabric* fabric, const Router* router);

}  // namespace fabricast
