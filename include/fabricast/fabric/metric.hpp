// Which paths between switches are minimal, in fabrics that are neither Clos networks nor read from a file.
//
// Every link between two switches has a length, a small integer, and the minimal paths are those of least total length.
// A topology states the lengths of its links, and the distance of any two switches by arithmetic:
//
//   a link from a to n is on a minimal path to b   <=>   length(a, n) + distance(n, b) = distance(a, b)              (1)
//
// So a router needs no table, whatever the size of the fabric, and a new topology is one file. Lengths are not always
// 1: a minimal path of a dragonfly crosses one global link, even where two global links would make fewer hops
// [Kim2008]. Around links that are down, routers search shortest paths with the same lengths.
//
// Switches are numbered from 0 here: vertex minus the number of endpoints.
//
// Contract of every Distances (tested against a search of the graph):
//   - distance is the length of the shortest path in the graph
//   - all minimal paths between two switches with NICs have equally many links, and pairs of equal distance have paths
//     of equal latency
// Immutable, so safe to use concurrently. No function checks its arguments.
#pragma once

#include <cstdint>
#include <string>

namespace fabricast {

/// The distances of one fabric.
class Distances {
 public:
  virtual ~Distances() = default;
  /// The dimensions in words. Fabrics with equal text have equal distances.
  virtual std::string text() const = 0;
  /// Length of the minimal paths from one switch to another; 0: they are the same switch.
  virtual std::uint32_t distance(std::uint32_t from, std::uint32_t to) const = 0;
  /// Length of a link between two switches. \pre they are neighbours
  virtual std::uint32_t length(std::uint32_t /*from*/, std::uint32_t /*to*/) const { return 1; }
  /// Whether a packet must cross the dimensions in order, so that of all minimal links only those of the first
  /// dimension are taken. Otherwise any of them is.
  virtual bool ordered() const { return false; }
  /// The dimension of the link between two switches. \pre they are neighbours
  virtual std::uint32_t dimension(std::uint32_t /*from*/, std::uint32_t /*to*/) const { return 0; }
  /// The group of a switch, for placement and non-minimal routing. Without groups each switch is its own.
  virtual std::uint32_t group_of(std::uint32_t at) const { return at; }
};

}  // namespace fabricast
