// The network of a scenario for other simulators (ask/call_times.hpp): the same world and site as `run` has.
#include "fabricast/ask/call_times.hpp"

#include "fabricast/ask/answer.hpp"
#include "fabricast/jobs/others.hpp"

namespace fabricast {

CallTimes call_times_of(const World& world, const std::vector<MeasuredFile>& measured, const CallTimesOptions& options,
                        const RunOptions& how) {
  return placed(world.scenario(), [&] {
    MeasuredSite site = site_of(measured, world, how);
    return CallTimes(with_others(world, how), std::move(site), options);
  });
}

}  // namespace fabricast
