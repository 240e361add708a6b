// Pages of forecasts: what `run --html` and `explain --html` write.
//
// Each begins with the answer in a sentence, goes on with what the engineer checks it by, and ends with the command and
// the scenario that give it again. Docs: docs/report.md.
#pragma once

#include <string>

#include "fabricast/page/page.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/step_advice.hpp"

namespace fabricast {

/// A page with all that does not hang on the kind of forecast. \param command  as it was typed
Page empty_page(const World& world, std::string command);

/// Charts `busbw`, `time`, `parts`; of several draws `draws`; of several nodes `load`, for which the median draw of the
/// largest size is run once more.
Page collective_page(const World& world, const Forecast& forecast, std::string command);
/// Charts `breakdown`, `memory`; of several draws `draws`.
Page step_page(const World& world, const StepForecast& forecast, std::string command);
/// Charts `breakdown`, `throughput`, `latency`; of several draws `draws`.
Page inference_page(const World& world, const InferenceForecast& forecast, std::string command);

/// The same of what `explain` found, with what would help.
Page explain_page(const World& world, const Explanation& explanation, std::string command);
Page explain_step_page(const World& world, const StepExplanation& explanation, std::string command);
Page explain_inference_page(const World& world, const InferenceExplanation& explanation, std::string command);

/// The fabric of a scenario alone, without loads; chart `fabric`.
FabricDrawing scenario_drawing(const World& world);

}  // namespace fabricast
