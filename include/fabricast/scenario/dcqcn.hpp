// `fabric.congestion.control: dcqcn`: settings for the engine, or why a scenario cannot have them.
//
// DCQCN is the congestion control of RoCE NICs. Its flows have one path each here, and start together in a call:
// collectives of one job. In steps and between jobs calls follow each other, and flows have found their rates, which
// `reactive` describes.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <memory>
#include <optional>

#include "fabricast/core/error.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// Whether flow control alone (control `none`) is simulated by the same rates, without marks: for a collective without
/// other traffic whose flows have one path each.
bool simulates_pauses(const Scenario& scenario, const NetworkSetup& setup);
/// Those of switches without marks where simulates_pauses(). Else null with another control, and for a job that uses no
/// network.
/// \throws UserError (path fabric.congestion) if networks, paths, workload or other keys do not allow it, if kmax is not
///   above kmin, or if its settings are given with another control
std::shared_ptr<const DcqcnSettings> dcqcn_settings(const Scenario& scenario, const NetworkSetup& setup);
/// That flows start together; none with another control.
std::optional<Diagnostic> dcqcn_warning(const Scenario& scenario, const NetworkSetup& setup);

}  // namespace fabricast
