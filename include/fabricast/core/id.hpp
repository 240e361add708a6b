// Strong ids: an index into one kind of table can not be used as an index into another.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace fabricast {

template <class Tag>
struct Id {
  std::uint32_t value = std::numeric_limits<std::uint32_t>::max();
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  constexpr explicit Id(int v) : value(static_cast<std::uint32_t>(v)) {}
  constexpr bool valid() const { return value != std::numeric_limits<std::uint32_t>::max(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using Rank = Id<struct RankTag>;            ///< NCCL rank: node * gpus + local index, in placement order
using VertexId = Id<struct VertexTag>;      ///< vertex of a graph (switch network or node)
using LinkId = Id<struct LinkTag>;          ///< directed link of a graph
using EndpointId = Id<struct EndpointTag>;  ///< NIC port on the switch network: node * nics + nic

}  // namespace fabricast
