// The network of an open scenario, of which doors ask times of calls: in numbers, or in JSON.
#pragma once

#include <string>

#include "fabricast/ask/call_times.hpp"
#include "open_scenario.hpp"
#include "questions.hpp"

namespace fabricast {

/// Opens the network of a scenario.
/// \param options  a JSON object: `intervals`, `measured`, `kept`; empty: `{}`
/// \param reply    gets warnings
/// \throws UserError for options, and as call_times_of
CallTimes open_network(const OpenScenario& scenario, const std::string& options, const QuestionRun& run, Reply& reply);

/// The options of open_network, in the form of questions_json.
std::string network_options_schema();

/// Answers calls in JSON (include/fabricast.h describes both).
/// \throws UserError that names the call, the first whose answer is an error
std::string answer_calls(const CallTimes& network, const std::string& calls, int threads);

}  // namespace fabricast
