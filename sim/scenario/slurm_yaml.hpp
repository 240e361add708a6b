// Slurm's topology.yaml [Slurm-topology] as plain values.
#pragma once

#include <string_view>

#include "fabricast/discover/slurm.hpp"

namespace fabricast {

/// Whether a text is one: a list whose entries begin with `topology:`.
bool is_slurm_yaml(std::string_view text);

/// Of several topologies the first default one, else the first. Faults go to `problems`.
SlurmTopology read_slurm_yaml(const std::string& text, FileProblems& problems);

}  // namespace fabricast
