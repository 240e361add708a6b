// Folds a fabric into rows of boxes and lines between them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "fabricast/page/drawing.hpp"

namespace fabricast {

namespace {

/// Vertices of a box: as few as make at most `most` boxes, on the borders of units (pods, groups) where there are any.
std::uint32_t box_size(std::uint32_t count, std::uint32_t unit, std::uint32_t most) {
  const std::uint32_t least = (count + most - 1) / most;
  if (unit <= 1 || unit > count) unit = count;
  for (std::uint32_t size = least; size < least * 2 && size <= count; ++size)
    if (size <= unit ? unit % size == 0 : size % unit == 0)
      if ((count + size - 1) / size <= most) return size;
  return std::max(1U, least);
}

/// A row of the drawing and where its vertices are.
struct Row {
  std::string title;
  std::uint32_t first = 0, count = 0, size = 1;  ///< of nodes: counted in nodes
};

std::vector<Row> rows_of(const Fabric& fabric, std::uint32_t most) {
  const Clos* clos = fabric.clos();
  std::vector<Row> rows;
  rows.push_back({"nodes", 0, fabric.nodes(), box_size(fabric.nodes(), clos ? clos->nodes_per_block : 1, most)});
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
  auto operator<=>(const BoxPlace&) const = default;
};

class Folder {
 public:
  Folder(const Fabric& fabric, const std::vector<float>& load, std::uint32_t most)
      : fabric_(fabric), load_(load), rows_(rows_of(fabric, most)) {}

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

  BoxPlace place(VertexId v) const {
    if (fabric_.is_endpoint(v)) return {0, v.value / fabric_.ports_per_node() / rows_[0].size};
    std::uint32_t r = static_cast<std::uint32_t>(rows_.size()) - 1;
    while (v.value < rows_[r].first) --r;
    return {r, (v.value - rows_[r].first) / rows_[r].size};
  }

  double load(std::uint32_t link) const { return load_.empty() ? 0 : static_cast<double>(load_[link]); }

  void add_lines(FabricDrawing& drawing) const {
    std::map<std::pair<BoxPlace, BoxPlace>, FabricLine> lines;
    std::map<std::pair<BoxPlace, BoxPlace>, std::uint32_t> fullest;
    for (std::uint32_t l = 0; l < fabric_.links(); l += 2) {
      const Fabric::Link ends = fabric_.link(LinkId(l));
      const auto key = std::pair(place(ends.from), place(ends.to));
      FabricLine& line = lines[key];
      const double rate = fabric_.link_class(LinkId(l)).rate.value;
      if (line.cables++ == 0) line.rate = rate, fullest[key] = l;
      line.rate = std::min(line.rate, rate);
      for (const std::uint32_t way : {l, l + 1}) {
        line.mean += load(way) / 2;
        if (load(way) > line.most) line.most = load(way), fullest[key] = way;
      }
    }
    for (auto& [key, line] : lines) {
      line.lower_row = key.first.row, line.lower = key.first.box;
      line.upper_row = key.second.row, line.upper = key.second.box;
      line.mean /= line.cables;
      line.fullest = fabric_.name(LinkId(fullest[key]));
      drawing.lines.push_back(std::move(line));
    }
  }

  /// By tier below and direction.
  void add_tiers(FabricDrawing& drawing) const {
    for (std::uint32_t lower = 0; lower + 1 < rows_.size(); ++lower)
      for (const std::uint32_t down : {0U, 1U}) {
        TierLoad tier;
        std::vector<float> loads;
        std::uint32_t fullest = 0;
        tier.rate = std::numeric_limits<double>::infinity();
        for (std::uint32_t l = 0; l < fabric_.links(); l += 2) {
          if (place(fabric_.link(LinkId(l)).from).row != lower) continue;
          const std::uint32_t way = l + down;
          if (loads.empty() || load(way) > tier.most) tier.most = load(way), fullest = way;
          loads.push_back(static_cast<float>(load(way)));
          tier.mean += load(way), tier.rate = std::min(tier.rate, fabric_.link_class(LinkId(way)).rate.value);
        }
        if (loads.empty()) continue;
        tier.links = static_cast<std::uint32_t>(loads.size());
        tier.mean /= tier.links;
        const auto p95 = loads.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                             loads.size() - 1, static_cast<std::size_t>(0.95 * tier.links)));
        std::nth_element(loads.begin(), p95, loads.end());
        tier.p95 = static_cast<double>(*p95);
        const std::string& a = rows_[lower + (down ? 1 : 0)].title;
        const std::string& b = rows_[lower + (down ? 0 : 1)].title;
        tier.name = fmt::format("{} to {}", a, b);
        tier.fullest = fabric_.name(LinkId(fullest));
        drawing.tiers.push_back(std::move(tier));
      }
  }

  const Fabric& fabric_;
  const std::vector<float>& load_;
  const std::vector<Row> rows_;
};

}  // namespace

FabricDrawing draw_fabric(const Fabric& fabric, const std::vector<float>& load, std::uint32_t most) {
  return Folder(fabric, load, std::max(1U, most)).fold();
}

}  // namespace fabricast
