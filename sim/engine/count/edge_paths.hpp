// All connections of a small plan with the links that they cross: links by connection, and connections by link.
//
// Counts give the number of connections that cross a link at any time of the call. Contention over time
// (time/edge_contention.hpp) depends on those that cross it at the same time, so it needs each connection. With Q queue
// pairs, the fraction of a connection that is on link l is
//
//   part(e, l) = 1/Q  sum over queue pairs q of e of  the fraction of q's messages that goes over l                 (1)
//
// There are thousands of them, so lists of all connections are stored one after the other.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fabric_count.hpp"

namespace fabricast {

struct EdgePaths {
  /// A connection on a link.
  struct Crossing {
    std::uint32_t channel = 0, edge = 0;  ///< number among the channel's connections
    std::uint32_t path = 0;               ///< of its queue pair; equal paths have equal numbers
    std::uint32_t from = 0;               ///< endpoint
    double part = 1;                      ///< (1), one term of the sum
  };
  struct Hop {
    std::uint32_t link = 0;  ///< in `links`
    double part = 1;         ///< fraction of the queue pair's messages
  };
  /// Of a list: its first element and the one after its last.
  struct Part {
    std::uint32_t begin = 0, end = 0;
  };
  struct Link {
    std::uint32_t resource = 0;
    bool port = false;
    Part crossings;
  };
  /// A queue pair. It has no hops if it has no path.
  struct Pair {
    std::uint32_t path = 0;
    Part hops;
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;  ///< endpoints
    Part pairs;
  };
  std::vector<std::vector<Edge>> edges;  ///< by channel
  std::vector<Link> links;
  std::vector<Pair> pairs;
  std::vector<Hop> hops;
  std::vector<Crossing> crossings;  ///< of each link in the order of the connections

  std::span<const Pair> of(const Edge& edge) const { return part(pairs, edge.pairs); }
  std::span<const Hop> of(const Pair& pair) const { return part(hops, pair.hops); }
  std::span<const Crossing> of(const Link& link) const { return part(crossings, link.crossings); }

 private:
  template <class T>
  static std::span<const T> part(const std::vector<T>& list, const Part& part) {
    return {list.data() + part.begin, list.data() + part.end};
  }
};

/// Null if there are too many connections, or none. Timings then use means over all connections of a channel.
std::shared_ptr<const EdgePaths> edge_paths(const FabricCount::Input& input);

}  // namespace fabricast
