// Lattices of switches, and distances in them (lattice.hpp).
#include "lattice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fabricast/core/error.hpp"

namespace fabricast {

void visit_lattice(FieldVisitor& visit, LatticeBasics& basics) {
  visit_direct(visit, basics);
  visit("dimensions", basics.dimensions, "switches along each dimension", between(1, 65535));
  visit("cables", basics.cables, "parallel cables between two connected switches", between(1, 64));
  visit("paths", basics.paths,
        "minimal: all minimal paths; dimension_order: only those that cross the dimensions in order");
}

Lattice::Lattice(std::vector<std::uint32_t> sizes) : sizes_(std::move(sizes)) {
  for (const std::uint32_t size : sizes_) {
    stride_.push_back(points_);
    points_ *= size;
  }
  at_.reserve(points_ * sizes_.size());
  for (std::uint32_t point = 0; point < points_; ++point)
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      at_.push_back(static_cast<std::uint16_t>(point / stride_[d] % sizes_[d]));
}

Lattice lattice_of(const std::vector<int>& sizes, std::string_view key) {
  constexpr std::uint64_t most = 1U << 20;
  std::uint64_t points = 1;
  for (const int size : sizes) points = std::min(most + 1, points * static_cast<std::uint32_t>(size));
  if (sizes.empty() || sizes.size() > 8 || points > most)
    throw UserError::at(std::string(key), "needs 1 to 8 dimensions, and at most 1048576 switches in all",
                        fmt::format("e.g. {}: [8, 8, 4]", key.substr(key.find('.') + 1)));
  return Lattice({sizes.begin(), sizes.end()});
}

namespace {

FabricBuilder begin_lattice(const LatticeBasics& spec, const FabricDemand& demand, const Lattice& lattice,
                            std::uint32_t (*neighbours)(std::uint32_t size)) {
  const Attachment at = attach(spec, demand, lattice.points());
  std::uint64_t connected = 0;
  for (const std::uint32_t size : lattice.sizes()) connected += neighbours(size);
  require_ports(spec, "a switch", nic_ports(spec, at) + connected * static_cast<std::uint32_t>(spec.cables));
  return begin_direct(spec, demand, at, lattice.points(), 0);
}

class LatticeDistances final : public Distances {
 public:
  LatticeDistances(const char* name, const Lattice& lattice, Apart apart, bool ordered)
      : name_(name), lattice_(lattice), apart_(apart), ordered_(ordered) {}

  std::string text() const override {
    return fmt::format("{} {} {}", name_, fmt::join(lattice_.sizes(), " "), ordered_);
  }
  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    std::uint32_t sum = 0;
    for (std::size_t d = 0; d < lattice_.sizes().size(); ++d)
      sum += apart_(lattice_.coordinate(from, d), lattice_.coordinate(to, d), lattice_.sizes()[d]);
    return sum;
  }
  bool ordered() const override { return ordered_; }
  std::uint32_t dimension(std::uint32_t from, std::uint32_t to) const override {
    std::uint32_t d = 0;
    while (d + 1 < lattice_.sizes().size() && lattice_.coordinate(from, d) == lattice_.coordinate(to, d)) ++d;
    return d;
  }

 private:
  const char* name_;
  Lattice lattice_;
  Apart apart_;
  bool ordered_;
};

}  // namespace

LatticeBuilder::LatticeBuilder(const LatticeBasics& spec, const FabricDemand& demand,
                               std::uint32_t (*neighbours)(std::uint32_t size))
    : spec_(spec),
      lattice_(lattice_of(spec.dimensions, "fabric.dimensions")),
      builder_(begin_lattice(spec, demand, lattice_, neighbours)),
      first_(demand.nodes * demand.ports_per_node),
      between_(between_switches(spec, demand, spec.cable)) {}

void LatticeBuilder::connect(std::uint32_t from, std::uint32_t to) {
  for (int c = 0; c < spec_.cables; ++c)
    builder_.add_cable(VertexId(first_ + from), VertexId(first_ + to), between_, between_);
}

Fabric LatticeBuilder::build(const char* name, Apart apart) && {
  builder_.set_metric(
      std::make_shared<LatticeDistances>(name, lattice_, apart, spec_.paths == LatticePaths::dimension_order));
  return std::move(builder_).build();
}

}  // namespace fabricast
