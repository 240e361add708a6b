// What a mapping makes of a published row, of training steps and of serving alike: a scenario, or what is missing for one.
//
// What the row leaves open is assumed, and each assumption says its key, its value and why. A setting that a scenario has
// no key for is `unsaid` where the forecast is then of the software's usual setting, and `missing` where there is no
// forecast without it: then the row cannot be said.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

/// A value that the row does not state.
struct Assumed {
  std::string key;  ///< of the scenario
  std::string value;
  std::string why;
};

struct Mapping {
  std::string id;        ///< the source and the row's number in it: `dgxc-24.11/17`
  bool experts = false;  ///< the model is a mixture of experts
  std::string scenario;  ///< JSON, which is YAML; empty: the row cannot be said
  std::vector<Assumed> assumed;
  std::vector<std::string> unsaid;  ///< settings that a scenario has no key for, and the forecast is without
  std::string missing;              ///< the key or value without which the row cannot be said
};

/// What became of a row.
enum class RowOutcome {
  forecast,   ///< has a forecast
  refused,    ///< has a scenario that is refused: memory, or splits that do not go together
  unsayable,  ///< has no scenario, as something is missing
  repeated    ///< of steps: the same one stands earlier, in steps.json or in the table
};

/// How many rows a missing key keeps out, or have a setting that cannot be said.
struct KeyCount {
  std::string key;
  std::size_t rows = 0;
};

}  // namespace fabricast
