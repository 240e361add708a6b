// Pages of forecasts, which `run --html` and `explain --html` write.
//
// Each page begins with the answer in a sentence and a few figures. Then come the details that an engineer needs to
// check the answer, and last the command and the scenario that reproduce it.
//
// The functions read the world and the forecast and change neither; safe to call concurrently. Docs: docs/report.md.
#pragma once

#include <string>

#include "fabricast/page/page.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/step_advice.hpp"

namespace fabricast {

/// A page with everything that does not depend on the kind of forecast: title, warnings, command, scenario, version.
/// \param command  as it was typed
Page empty_page(const World& world, std::string command);

/// The page of a collective. Charts: `busbw` and `time` over message size; with the flow engine `parts` (where the time
/// goes); with several samples `samples`; with the flow engine on several nodes `load` (the fabric's links). The
/// median sample of the largest size is run once more for the link loads.
/// \pre the forecast has a row
Page collective_page(const Forecast& forecast, std::string command);
/// The page of a training step or a trace. Charts: `breakdown`; `memory` if it is known; with several samples
/// `samples`.
Page step_page(const StepForecast& forecast, std::string command);
/// The page of inference. Charts: `breakdown` and `memory`; with several batch sizes `throughput` and `latency`; with
/// several samples `samples`.
Page inference_page(const InferenceForecast& forecast, std::string command);

/// Pages of what `explain` found: the page of the forecast, and a section with the changes that would help. For a
/// collective it replaces the charts over message size, because `explain` forecasts one size.
Page explain_page(const Explanation& explanation, std::string command);
Page explain_step_page(const StepExplanation& explanation, std::string command);
Page explain_inference_page(const InferenceExplanation& explanation, std::string command);

/// The fabric of a scenario without loads; its name is `fabric`. \pre the world has a fabric
FabricDrawing scenario_drawing(const World& world);

}  // namespace fabricast
