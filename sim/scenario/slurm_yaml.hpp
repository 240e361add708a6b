// Reads Slurm's topology.yaml [Slurm-topology] as plain values.
#pragma once

#include <string_view>

#include "fabricast/discover/slurm.hpp"

namespace fabricast {

/// Whether a text is a topology.yaml: a list whose entries begin with `topology:`.
bool is_slurm_yaml(std::string_view text);

/// Reads the first topology that is marked as default, or else the first one. Errors go to `problems`.
SlurmTopology read_slurm_yaml(const std::string& text, FileProblems& problems);

}  // namespace fabricast
