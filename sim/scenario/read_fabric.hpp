// Files of a real fabric that a scenario names, and what they decide of other sections.
#pragma once

#include <vector>

#include "fabricast/scenario/scenario.hpp"
#include "yaml_reader.hpp"

namespace fabricast {

/// Reads `fabric.path` and `routing.path`; finds the hosts of `cluster.hosts`.
/// \throws UserError with the faults of a file; those of keys go to the reader
void read_fabric_files(Scenario& s, YamlReader& reader, std::vector<Diagnostic>& warnings);

}  // namespace fabricast
