// Drawings of fabrics: the nodes and each tier of switches as a row of boxes, and the cables between rows as lines,
// coloured by load.
//
// Large fabrics are folded. Neighbours in a row share a box ("leaf0 to leaf7"), and all cables between two boxes are
// one line, so a row has at most 24 boxes by default, whatever the size of the fabric. Boxes end at the borders of
// units (pods, groups) where that is possible. The colour of a line is the load of its most loaded link; pointing at
// the line shows its cables and loads.
//
// `drawing_svg` and `drawing_dot` (Graphviz) write the same boxes and lines.
//
// Loads are fractions of a link's rate, from 0 to 1. Rates are bytes of payload per second in one direction.
// Plain values and pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

/// One vertex, or several neighbours in a row.
struct FabricBox {
  std::string first, last;  ///< names of the first and the last vertex; equal if there is one
  std::uint32_t count = 1;
};

/// A tier of the drawing: the nodes, or the switches of one tier.
struct FabricRow {
  std::string title;        ///< `nodes`, or the tier: `leaf`
  std::uint32_t count = 0;  ///< nodes or switches, over all boxes
  std::vector<FabricBox> boxes;
};

/// All cables between a box and a box of a higher row.
struct FabricLine {
  std::uint32_t lower_row = 0, lower = 0;  ///< row and box of the lower end
  std::uint32_t upper_row = 0, upper = 0;  ///< row and box of the upper end
  std::uint32_t cables = 0;
  BytesPerSecond rate;        ///< of the slowest cable, one direction
  double mean = 0, most = 0;  ///< load over its links, both directions
  std::string fullest;        ///< name of the most loaded link
};

/// The links between two tiers in one direction.
struct TierLoad {
  std::string name;  ///< `nodes to leaf`
  std::uint32_t links = 0;
  BytesPerSecond rate;  ///< of the slowest link
  double mean = 0, p95 = 0, most = 0;
  std::string fullest;  ///< name of the most loaded link; the first of several equal ones
};

/// A folded fabric. `name`, `title` and `note` are as in LineChart; `draw_fabric` leaves them empty for the caller.
struct FabricDrawing {
  std::string name, title, note;
  std::vector<FabricRow> rows;  ///< from the bottom: the nodes first
  std::vector<FabricLine> lines;
  std::vector<TierLoad> tiers;  ///< empty without loads
  bool with_load = false;
};

/// Folds a fabric into rows of boxes. Linear in the number of cables, so a million GPUs can be drawn.
/// \param load  load of each link, by link number; empty: unknown, and lines have no colour
/// \param most  maximum number of boxes in a row; 0 counts as 1
/// \pre `load` is empty or has one value for each link of the fabric
FabricDrawing draw_fabric(const Fabric& fabric, const std::vector<float>& load = {}, std::uint32_t most = 24);

/// The drawing as one `<svg>` element. \param standalone  as in `chart_svg`
std::string drawing_svg(const FabricDrawing& drawing, bool standalone = true);
/// The drawing as an undirected graph for `dot -Tsvg`. Lines are labelled only if there are at most 32: with more,
/// labels hide the lines, and Graphviz takes minutes to place them.
std::string drawing_dot(const FabricDrawing& drawing);

}  // namespace fabricast
