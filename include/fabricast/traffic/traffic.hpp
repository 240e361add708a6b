// What exchanges take: alone, and beside others in flight.
//
// An exchange kind is one call of all its groups at once. Alone it takes `alone(kind).makespan`, in which its groups
// already share the fabric's links with each other. Beside other exchanges its channels get less of the links that they
// share: then it goes on at `pace` of its speed. Paces hold until an exchange starts or ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabricast/core/units.hpp"

namespace fabricast {

struct CollectiveTime {
  Seconds makespan;  ///< from the first rank's start to the last one's end, launch excluded
  Seconds launch;    ///< of one call
  std::string algorithm, protocol;
  int channels = 1;
  std::string bottleneck;  ///< a link, `gpu copy`, `proxy thread`, or `latency`
};

/// One draw of the network. Not thread-safe.
class Traffic {
 public:
  virtual ~Traffic() = default;
  virtual const CollectiveTime& alone(std::uint32_t kind) = 0;
  /// Whether no other kind can slow it down, nor it any other.
  virtual bool is_independent(std::uint32_t kind) = 0;
  /// Paces in (0, 1] of all that are in flight together.
  /// \param kinds  in flight, rising; a kind may be there more than once
  /// \param paces  one for each
  virtual void paces(std::span<const std::uint32_t> kinds, std::span<double> paces) = 0;
};

}  // namespace fabricast
