// Switches on the points of a box of whole numbers: what a torus and a HyperX share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "direct.hpp"

namespace fabricast {

/// Which of the minimal paths packets may take.
enum class LatticePaths { dimension_order, minimal };
template <>
struct EnumNames<LatticePaths> {
  static constexpr std::array<std::string_view, 2> names{"dimension_order", "minimal"};
};

/// Keys of both topologies.
struct LatticeBasics : DirectBasics {
  std::vector<int> dimensions{4, 4};
  int cables = 1;
  LatticePaths paths = LatticePaths::minimal;
};
void visit_lattice(FieldVisitor& visit, LatticeBasics& basics);

/// Points are numbered with the first dimension fastest.
class Lattice {
 public:
  explicit Lattice(std::vector<std::uint32_t> sizes);
  std::uint32_t points() const { return points_; }
  std::span<const std::uint32_t> sizes() const { return sizes_; }
  std::uint32_t coordinate(std::uint32_t point, std::size_t d) const { return at_[point * sizes_.size() + d]; }
  /// The point with another coordinate in one dimension.
  std::uint32_t moved(std::uint32_t point, std::size_t d, std::uint32_t to) const {
    return point + (to - coordinate(point, d)) * stride_[d];
  }

 private:
  std::vector<std::uint32_t> sizes_, stride_;
  std::vector<std::uint16_t> at_;  ///< coordinates by point; computed once, because distances need them all the time
  std::uint32_t points_ = 1;
};

/// \throws UserError if there is no dimension, or too many points
Lattice lattice_of(const std::vector<int>& sizes, std::string_view key);

/// How far apart two coordinates of a dimension are.
using Apart = std::uint32_t (*)(std::uint32_t a, std::uint32_t b, std::uint32_t size);
/// In a ring, the shorter way around.
constexpr std::uint32_t apart_in_ring(std::uint32_t a, std::uint32_t b, std::uint32_t size) {
  const std::uint32_t between = a < b ? b - a : a - b;
  return between < size - between ? between : size - between;
}
/// Where all are connected to all.
constexpr std::uint32_t apart_in_mesh(std::uint32_t a, std::uint32_t b, std::uint32_t) { return a == b ? 0 : 1; }

/// To how many others of its dimension a point is connected, by the size of the dimension.
constexpr std::uint32_t neighbours_in_ring(std::uint32_t size) { return size - 1 < 2 ? size - 1 : 2; }
constexpr std::uint32_t neighbours_in_mesh(std::uint32_t size) { return size - 1; }

/// Calls connect(a, b) once for any two points that are connected along a dimension.
template <class Connect>
void for_each_in_rings(const Lattice& lattice, Connect connect) {
  for (std::uint32_t point = 0; point < lattice.points(); ++point)
    for (std::size_t d = 0; d < lattice.sizes().size(); ++d) {
      const std::uint32_t size = lattice.sizes()[d], here = lattice.coordinate(point, d);
      // The last one of a ring closes it, unless the ring has only two.
      if (size == 1 || (size == 2 && here == 1)) continue;
      connect(point, lattice.moved(point, d, (here + 1) % size));
    }
}
template <class Connect>
void for_each_in_meshes(const Lattice& lattice, Connect connect) {
  for (std::uint32_t point = 0; point < lattice.points(); ++point)
    for (std::size_t d = 0; d < lattice.sizes().size(); ++d)
      for (std::uint32_t there = lattice.coordinate(point, d) + 1; there < lattice.sizes()[d]; ++there)
        connect(point, lattice.moved(point, d, there));
}

/// Builds the fabric of a lattice, cable by cable.
class LatticeBuilder {
 public:
  /// \param neighbours  neighbours_in_ring or neighbours_in_mesh
  /// \throws UserError if there is no dimension, too many switches, or too few ports
  LatticeBuilder(const LatticeBasics& spec, const FabricDemand& demand,
                 std::uint32_t (*neighbours)(std::uint32_t size));
  const Lattice& lattice() const { return lattice_; }
  /// Connects two points by the cables of the specification.
  void connect(std::uint32_t from, std::uint32_t to);
  /// Distances are sums over the dimensions. \param name  of the topology
  Fabric build(const char* name, Apart apart) &&;

 private:
  const LatticeBasics& spec_;
  Lattice lattice_;
  FabricBuilder builder_;
  std::uint32_t first_;  ///< vertex
  LinkClass between_;
};

}  // namespace fabricast
