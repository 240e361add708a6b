// Reads an InfraGraph, in YAML or JSON, as plain values.
#pragma once

#include "fabricast/discover/infragraph.hpp"
#include "yaml_tree.hpp"

namespace fabricast {

/// Whether a document is an InfraGraph: it has `instances` and `edges`, possibly inside `infrastructure`.
bool is_infragraph(const YamlView& root);

/// Reads a graph. Keys that Fabricast does not need are ignored. Errors go to `problems`.
InfraGraph read_infragraph(const YamlView& root, FileProblems& problems);

}  // namespace fabricast
