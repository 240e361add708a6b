// Measured steps and kernels; the scenario or the time of each.
#include "fabricast/calibrate/steps.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_steps(std::string_view bytes) {
  const std::string text(bytes);
  const auto steps = taken(text, [&] { return steps_of(text, "file"); });
  if (!steps) return;
  for (const StepCase& step : *steps) {
    require(step.measured.value > 0 && step.noise > 0);
    if (step.scenario.empty())
      taken(text, [&] { return kernel_time(step.kernel, shipped_hardware()); });
    else
      taken(text, [&] { return parse_scenario(step.scenario, "step").scenario.version; });
  }
}

}  // namespace fabricast::fuzz
