// Folds a fabric into rows of boxes and lines between them.
//
// A fabric of a million GPUs has tens of thousands of switches. Neighbours share a box, so that a row has at most
// `most` of them, and all cables between two boxes are one line. Loads are reduced to their mean and maximum on the
// way; the fullest link keeps its name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

#include "fabricast/page/drawing.hpp"

namespace fabricast {

namespace {

/// Vertices per box: the smallest number that gives at most `most` boxes and makes them end at the borders of units
/// (pods, groups). If no number below twice the minimum does, borders are ignored.
std::uint32_t box_size(std::uint32_t count, std::uint32_t unit, std::uint32_t most) {
  const std::uint32_t least = (count + most - 1) / most;
  if (unit <= 1 || unit > count) unit = count;
  for (std::uint32_t size = least; size < least * 2 && size <= count; ++size)
    if (size <= unit ? unit % size == 0 : size % unit == 0)
      if ((count + size - 1) / size <= most) return size;
  return std::max(1U, least);
}

/// A row of the drawing and its range of vertices.
struct Row {
  std::string title;
  std::uint32_t first = 0, count = 0, size = 1;  ///< `size`: vertices per box. The first row counts nodes instead
};

// Nodes at the bottom, then the tiers. Boxes end at the borders of blocks, groups and planes of cores where possible,
// so that a box has uniform cables.
std::vector<Row> rows_of(const Fabric& fabric, std::uint32_t most) {
  const Clos* clos = fabric.clos();
  std::vector<Row> rows;
  rows.push_back(
      {"nodes", 0, fabric.nodes(), box_size(fabric.nodes(), clos ? clos->nodes_per_block : Divisor(1), most)});
  std::uint32_t first = fabric.endpoints();
  for (const Tier tier : {Tier::leaf, Tier::spine, Tier::core}) {
    const std::uint32_t count = fabric.switches_in(tier);
    if (count == 0) continue;
    std::uint32_t unit = 1;
    if (clos && tier == Tier::leaf) unit = clos->groups > 1 ? clos->leaves_per_group : clos->block_stride;
    if (clos && tier == Tier::spine) unit = clos->spines_per_group;
    if (clos && tier == Tier::core) unit = clos->cores_per_plane;
    rows.push_back({std::string(name_of(tier)), first, count, box_size(count, unit, most)});
    first += count;
  }
  return rows;
}

struct BoxPlace {
  std::uint32_t row, box;
};

class Folder {
 public:
  Folder(const Fabric& fabric, const std::vector<float>& load, std::uint32_t most)
      : fabric_(fabric), load_(load), boxes_(most), rows_(rows_of(fabric, most)) {}

  FabricDrawing fold() {
    FabricDrawing drawing;
    drawing.with_load = !load_.empty();
    for (const Row& r : rows_) drawing.rows.push_back(boxes_of(r));
    add_lines(drawing);
    if (drawing.with_load) add_tiers(drawing);
    return drawing;
  }

 private:
  std::string name_at(const Row& row, std::uint32_t i) const {
    return row.first == 0 ? fmt::format("node{}", i) : fabric_.name(VertexId(row.first + i));
  }

  FabricRow boxes_of(const Row& row) const {
    FabricRow out{row.title, row.count, {}};
    for (std::uint32_t i = 0; i < row.count; i += row.size) {
      const std::uint32_t end = std::min(row.count, i + row.size);
      out.boxes.push_back({name_at(row, i), name_at(row, end - 1), end - i});
    }
    return out;
  }

  // Vertices are numbered by tier: NIC ports first, then leaves, spines and cores. Ports of a node are in the box of
  // the node.
  BoxPlace place(VertexId v) const {
    if (fabric_.is_endpoint(v)) return {0, v.value / fabric_.ports_per_node() / rows_[0].size};
    std::uint32_t r = static_cast<std::uint32_t>(rows_.size()) - 1;
    while (v.value < rows_[r].first) --r;
    return {r, (v.value - rows_[r].first) / rows_[r].size};
  }

  double load(std::uint32_t link) const { return load_.empty() ? 0 : static_cast<double>(load_[link]); }

  /// A number for each box of the drawing.
  std::size_t number(BoxPlace p) const { return p.row * boxes_ + p.box; }

  void add_lines(FabricDrawing& drawing) const {
    // A dense table of all pairs of boxes is fast to index, and a million GPUs have millions of cables.
    const std::size_t all = rows_.size() * boxes_;
    std::vector<FabricLine> lines(all * all);
    std::vector<std::uint32_t> fullest(all * all, 0);
    for (std::uint32_t l = 0; l < fabric_.links(); l += 2) {
      const Fabric::Link ends = fabric_.link(LinkId(l));
      const BoxPlace lower = place(ends.from), upper = place(ends.to);
      const std::size_t at = number(lower) * all + number(upper);
      FabricLine& line = lines[at];
      const BytesPerSecond rate = fabric_.link_class(LinkId(l)).rate;
      if (line.cables++ == 0) {
        line.lower_row = lower.row;
        line.lower = lower.box;
        line.upper_row = upper.row;
        line.upper = upper.box;
        line.rate = rate;
        fullest[at] = l;
      }
      line.rate = std::min(line.rate, rate);
      // Both directions of a cable: a line has the colour of the fuller one.
      for (const std::uint32_t route : {l, l + 1}) {
        line.mean += load(route) / 2;
        if (load(route) > line.most) {
          line.most = load(route);
          fullest[at] = route;
        }
      }
    }
    for (std::size_t at = 0; at < lines.size(); ++at) {
      FabricLine& line = lines[at];
      if (line.cables == 0) continue;
      line.mean /= line.cables;
      line.fullest = fabric_.name(LinkId(fullest[at]));
      drawing.lines.push_back(std::move(line));
    }
  }

  /// Load statistics by tiers and direction. Cables within a tier, as in a dragonfly, have one direction to name.
  void add_tiers(FabricDrawing& drawing) const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<std::vector<std::uint32_t>, 2>> links;
    for (std::uint32_t l = 0; l < fabric_.links(); l += 2) {
      const Fabric::Link ends = fabric_.link(LinkId(l));
      const std::uint32_t lower = place(ends.from).row, upper = place(ends.to).row;
      auto& of = links[{lower, upper}];
      of[0].push_back(l);
      of[lower == upper ? 0 : 1].push_back(l + 1);
    }
    for (auto& [rows, of] : links) {
      const std::string &lower = rows_[rows.first].title, &upper = rows_[rows.second].title;
      drawing.tiers.push_back(tier_of(of[0], lower, upper));
      if (!of[1].empty()) drawing.tiers.push_back(tier_of(of[1], upper, lower));
    }
  }

  /// \param links  not empty
  TierLoad tier_of(std::vector<std::uint32_t>& links, const std::string& from, const std::string& to) const {
    TierLoad tier;
    tier.name = fmt::format("{} to {}", from, to);
    tier.links = static_cast<std::uint32_t>(links.size());
    tier.rate.value = std::numeric_limits<double>::infinity();
    std::uint32_t fullest = links.front();
    for (const std::uint32_t l : links) {
      if (load(l) > load(fullest)) fullest = l;
      tier.mean += load(l) / tier.links;
      tier.rate = std::min(tier.rate, fabric_.link_class(LinkId(l)).rate);
    }
    tier.most = load(fullest);
    tier.fullest = fabric_.name(LinkId(fullest));
    const auto p95 = links.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                         links.size() - 1, static_cast<std::size_t>(0.95 * tier.links)));
    std::nth_element(links.begin(), p95, links.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return load_[a] < load_[b]; });
    tier.p95 = load(*p95);
    return tier;
  }

  const Fabric& fabric_;
  const std::vector<float>& load_;
  const std::uint32_t boxes_;  ///< maximum for a row
  const std::vector<Row> rows_;
};

}  // namespace

FabricDrawing draw_fabric(const Fabric& fabric, const std::vector<float>& load, std::uint32_t most) {
  return Folder(fabric, load, std::max(1U, most)).fold();
}

}  // namespace fabricast
