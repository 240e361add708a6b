// Drawings of fabrics: nodes and tiers of switches as rows, cables between them, with the load of each.
//
// Large fabrics are folded: neighbours in a row share a box ("leaf0 to leaf7"), and all cables between two boxes are
// one line, so that a drawing has at most about 24 boxes a row whatever the size. A line is coloured by the fullest of
// its links; what it holds is told when it is pointed at.
//
// Graphviz gets the same boxes (`fabric_dot`), and every vertex by itself if the fabric is small enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

/// Neighbours in a row.
struct FabricBox {
  std::string first, last;  ///< names; the same of one vertex
  std::uint32_t count = 1;
};

struct FabricRow {
  std::string title;  ///< `leaf`, `nodes`
  std::uint32_t count = 0;
  std::vector<FabricBox> boxes;
};

/// All cables between two boxes of neighbouring rows.
struct FabricLine {
  std::uint32_t lower_row = 0, lower = 0;  ///< row and box
  std::uint32_t upper_row = 0, upper = 0;
  std::uint32_t cables = 0;
  double rate = 0;            ///< B/s of payload that a cable carries in one direction; the least
  double mean = 0, most = 0;  ///< load of its links, 0 to 1
  std::string fullest;        ///< the link of most load
};

/// The links between two tiers in one direction.
struct TierLoad {
  std::string name;  ///< `nodes to leaf`
  std::uint32_t links = 0;
  double rate = 0;  ///< B/s of one
  double mean = 0, p95 = 0, most = 0;
  std::string fullest;
};

struct FabricDrawing {
  std::string name, title, note;
  std::vector<FabricRow> rows;  ///< the nodes first
  std::vector<FabricLine> lines;
  std::vector<TierLoad> tiers;  ///< empty without loads
  bool with_load = false;
};

/// \param load  by link, 0 to 1; empty: not known
/// \param most  boxes of a row
FabricDrawing draw_fabric(const Fabric& fabric, const std::vector<float>& load = {}, std::uint32_t most = 24);

std::string drawing_svg(const FabricDrawing& drawing, bool standalone = true);
/// For `dot -Tsvg`.
std::string drawing_dot(const FabricDrawing& drawing);

}  // namespace fabricast
