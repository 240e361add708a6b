// Strong ids: an index into one kind of table cannot be used as an index into another.
//
// An id is a 32-bit value, cheap to copy and totally ordered by its number. The largest 32-bit number means "none", so
// a table can have at most 2^32 - 1 entries. Values are not checked against the size of a table.
//
//   std::vector<LinkClass> classes;               // by LinkId
//   classes[link.value];                          // the number is taken out where a table is indexed
//   classes[vertex];                              // does not compile: neither an integer nor a LinkId
//
// Plain values; safe to use concurrently.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace fabricast {

/// An index into the tables of one kind of thing, which `Tag` names. Default-constructed: none.
template <class Tag>
struct Id {
  std::uint32_t value = std::numeric_limits<std::uint32_t>::max();
  constexpr Id() = default;
  /// The largest number gives "none".
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  /// \pre `v` fits in 32 bits; larger values are truncated
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  /// \pre v >= 0
  constexpr explicit Id(int v) : value(static_cast<std::uint32_t>(v)) {}
  /// Whether this id names something.
  constexpr bool valid() const { return value != std::numeric_limits<std::uint32_t>::max(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using Rank = Id<struct RankTag>;        ///< NCCL rank: node * gpus + local index, in placement order
using VertexId = Id<struct VertexTag>;  ///< vertex of a graph (switch network or node)
using LinkId = Id<struct LinkTag>;      ///< directed link of a graph

}  // namespace fabricast
