// Which aspects of a step's forecast no measurement supports.
//
// Every parameter of the hardware model knows its source. A forecast that rests on guesses must say so first, however
// narrow its interval is: for example on a kind of GPU whose rates nobody has measured, or with software that no fitted
// step has run.
//
// Pure functions; safe to call concurrently. Only parameters that decide are checked: the rates of GEMMs and attention,
// the software stack, experts, disaggregated prefill and speculation. Networks are not.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

struct Scenario;

/// One sentence per aspect, for training and inference steps. Empty if all deciding parameters were measured somewhere,
/// and for other workloads.
std::vector<std::string> not_validated(const Scenario& scenario);
/// The same as lines of context: `# not validated: ...`.
std::string not_validated_text(const Scenario& scenario);

}  // namespace fabricast
