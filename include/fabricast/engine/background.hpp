// Background traffic: what other jobs and storage send on the fabric, as the links of a job see it.
//
// Background traffic is a list of *items*. An item is a channel of another job or a storage connection, and it has one
// rate. The model is an average over time. An item that sends for a fraction d of the time counts as d connections on
// each of its links, and its rate is at most d times the rate that it sends with. On a link of capacity 1 that a
// connection of the job and an item of duty d could each fill,
//
//     the connection gets 1 / (1 + d),   and the item gets d / (1 + d).
//
// The same averages result if the other job computes for (1 - d) / d of the time that its transfer takes alone, and
// then transfers again, because its transfer takes twice as long while it shares the link (docs/models/jobs.md).
//
// Rates are bytes per second of payload. A plain value.
//
// Not modelled: the phases of the other jobs relative to each other and to the job.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/core/units.hpp"

namespace fabricast {

/// Items and their use of links. All vectors by item have the same length.
struct Background {
  /// One item on one resource.
  struct Use {
    std::uint32_t resource = 0;  ///< of the router: a link or a bundle of links (routing/routing.hpp)
    std::uint32_t item = 0;
    double use = 0;          ///< fraction of the resource's rate per B/s of the item
    bool contended = false;  ///< `use` is already that of a contended link (NetworkSegment::contended)
  };
  std::vector<BytesPerSecond> rate;  ///< by item: maximum, averaged over time
  std::vector<double> weight;        ///< by item, > 0: links are fair to rate / weight
  std::vector<std::uint32_t> owner;  ///< by item: number of the job or storage system that it belongs to
  std::vector<double> duty;          ///< by item: fraction of the time in which it sends
  /// By item: number of its class in fabric.congestion.classes; 0 if all traffic is in one.
  std::vector<std::uint32_t> traffic_class;
  std::vector<Use> uses;  ///< sorted by resource, then by item; an item is at most once on a resource
  /// A connection of an item: the resources on its path, in order. Empty unless links are shared by ports
  /// (engine/port_shares.hpp).
  struct FlowPath {
    std::uint32_t item = 0;
    double part = 1;  ///< of the item's rate that it carries
    std::vector<std::uint32_t> resources;
  };
  std::vector<FlowPath> paths;  ///< by item, ascending
};

}  // namespace fabricast
