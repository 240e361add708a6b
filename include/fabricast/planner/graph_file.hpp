// Reads and writes search graphs as NCCL's graph XML (NCCL_GRAPH_DUMP_FILE) [NCCL-xml].
//
// Pure functions; safe to call concurrently.
#pragma once

#include <string>

#include "fabricast/planner/graph.hpp"

namespace fabricast {

/// Reads a file. Graphs that it does not contain have no channels. \param file  its name in messages
/// \throws UserError with file and line of everything that is invalid
SearchGraphs read_graphs(const std::string& text, const std::string& file);

/// Checks that graphs match a node. \param network  whether the communicator has several nodes
/// \throws UserError (path nccl.env.NCCL_GRAPH_FILE) if they do not
void check_graphs(const SearchGraphs& graphs, const Node& node, bool network);

/// The XML of graphs; read_graphs reads it.
std::string write_graphs(const SearchGraphs& graphs);

}  // namespace fabricast
