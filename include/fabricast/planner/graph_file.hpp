// Search graphs as NCCL's graph XML (NCCL_GRAPH_DUMP_FILE), in and out [NCCL-xml].
#pragma once

#include <string>

#include "fabricast/planner/graph.hpp"

namespace fabricast {

/// Graphs that the file does not hold have no channels.
/// \throws UserError with file and line of everything that is damaged
SearchGraphs read_graphs(const std::string& text, const std::string& file);

/// Whether graphs are about such a node.
/// \param network whether the node has others to talk to
/// \throws UserError at nccl.env.NCCL_GRAPH_FILE
void check_graphs(const SearchGraphs& graphs, const Node& node, bool network);

std::string write_graphs(const SearchGraphs& graphs);

}  // namespace fabricast
