// Which hosts a job has: checks of `cluster` and `jobs` that the reader makes when all sections are read.
#pragma once

#include <string>
#include <vector>

#include "fabricast/scenario/scenario.hpp"
#include "refusal.hpp"

namespace fabricast {

/// A job that is alone may leave NVLink domains partly filled, if they are filled evenly (even_domains).
void check_domains(const Scenario& scenario, const Refusal& refuse);
/// Refuses orders of other hosts than the job has, and fabrics that are too small for their jobs.
void check_placement(const Scenario& scenario, const Refusal& refuse);
/// Refuses an order that does not name `nodes` different hosts.
void check_order(const std::vector<int>& order, int nodes, const std::string& path, const Refusal& refuse);

}  // namespace fabricast
