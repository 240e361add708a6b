// InfraGraph's YAML or JSON as plain values.
#pragma once

#include <yaml-cpp/yaml.h>

#include "fabricast/discover/infragraph.hpp"

namespace fabricast {

/// Whether a document is one: it has `instances` and `edges`, perhaps within `infrastructure`.
bool is_infragraph(const YAML::Node& root);

/// Keys that are not needed are passed over. Faults go to `problems`.
InfraGraph read_infragraph(const YAML::Node& root, FileProblems& problems);

}  // namespace fabricast
