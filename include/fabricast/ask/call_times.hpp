// The network of a scenario, as other simulators ask it: report/call_times.hpp with the scenario's other jobs and the
// measured rows of its site.
//
// Errors at keys of the scenario have their position in its file. Safe to call concurrently.
#pragma once

#include <vector>

#include "fabricast/ask/logs.hpp"
#include "fabricast/report/call_times.hpp"

namespace fabricast {

/// \throws UserError as CallTimes, with_others and site_of; Interrupted on Ctrl-C
CallTimes call_times_of(const World& world, const std::vector<MeasuredFile>& measured, const CallTimesOptions& options,
                        const RunOptions& how = {});

}  // namespace fabricast
