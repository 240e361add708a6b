// Reads an InfraGraph, in YAML or JSON, as plain values.
#pragma once

#include <yaml-cpp/yaml.h>

#include "fabricast/discover/infragraph.hpp"

namespace fabricast {

/// Whether a document is an InfraGraph: it has `instances` and `edges`, possibly inside `infrastructure`.
bool is_infragraph(const YAML::Node& root);

/// Reads a graph. Keys that Fabricast does not need are ignored. Errors go to `problems`.
InfraGraph read_infragraph(const YAML::Node& root, FileProblems& problems);

}  // namespace fabricast
