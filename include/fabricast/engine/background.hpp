// Traffic of others on the fabric: other jobs and storage, as a job's own connections meet it.
//
// An *item* is what goes on at one rate: a channel of another job, or a storage connection. It is there in the mean of
// time: one that sends a part d of the time counts on its links as d of a connection, and takes at most d of its rate.
//
//     link of capacity 1, own connection and one of duty d, both could fill it:  own 1 / (1 + d), other d / (1 + d)
//
// That is what both get if the other one computes for (1 - d) / d of the time that its transfer takes alone, and transfers
// again: its transfer takes twice as long beside the own one (docs/models/jobs.md).
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/core/units.hpp"

namespace fabricast {

struct Background {
  struct Use {
    std::uint32_t resource = 0;  ///< of the router: a link or a bundle
    std::uint32_t item = 0;
    double use = 0;  ///< part of the resource's rate for each B/s
  };
  std::vector<BytesPerSecond> rate;  ///< by item: at most, in the mean of time
  std::vector<double> weight;        ///< by item: links are fair to rate / weight
  std::vector<std::uint32_t> owner;  ///< by item: which of the others
  std::vector<Use> uses;             ///< by resource, then by item; an item at most once on a resource
};

}  // namespace fabricast
