// All connections of a small plan with the links that they cross, both ways round.
//
// Counts say how many connections ever cross a link; the crowds of the moment (time/edge_contention.hpp) ask which of them
// are there at the same time, and so for each one by itself. With Q queue pairs a connection is on link l with the part
//
//   part(e, l) = 1/Q  sum over queue pairs q of e of  what of q's messages goes over l                              (1)
#pragma once

#include <memory>
#include <vector>

#include "fabric_count.hpp"

namespace fabricast {

struct EdgePaths {
  /// A connection's part on a link.
  struct Crossing {
    std::uint32_t channel = 0, edge = 0;  ///< number among the channel's connections
    std::uint32_t path = 0;               ///< of its queue pair: equal ones have the same number
    std::uint32_t from = 0;               ///< endpoint
    double part = 1;                      ///< of its messages
  };
  struct Hop {
    std::uint32_t link = 0;  ///< in `links`
    double part = 1;
  };
  struct Link {
    std::uint32_t resource = 0;
    bool port = false;
    std::vector<Crossing> crossings;
  };
  /// A queue pair; without hops where it has no path.
  struct Pair {
    std::uint32_t path = 0;
    std::vector<Hop> hops;
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;  ///< endpoints
    std::vector<Pair> pairs;
  };
  std::vector<std::vector<Edge>> edges;  ///< by channel
  std::vector<Link> links;
};

/// Null where there are too many: then what is known of their mean has to do.
std::shared_ptr<const EdgePaths> edge_paths(const FabricCount::Input& input);

}  // namespace fabricast
