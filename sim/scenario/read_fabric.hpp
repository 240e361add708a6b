// Reads the files of a real fabric that a scenario names, and sets what they determine of other sections.
#pragma once

#include <vector>

#include "fabricast/scenario/scenario.hpp"
#include "yaml_reader.hpp"

namespace fabricast {

/// Reads the files of `fabric.path` and `routing.path`, and resolves the names of `cluster.hosts`. Errors in keys go to
/// the reader.
/// \throws UserError with the errors of a file
void read_fabric_files(Scenario& s, YamlReader& reader, std::vector<Diagnostic>& warnings);

}  // namespace fabricast
