// The result of mapping a published row, of training steps and of serving alike: a scenario, or the reason why there is
// none.
//
// A row rarely states everything that a scenario needs. What it leaves open is assumed; each assumption has its key,
// its value and a reason. A setting that the row states but a scenario has no key for is handled in one of two ways:
//
//   unsaid   the row is forecast with the software's usual setting, and the setting is listed
//   missing  the setting changes too much; the row has no scenario ("unmapped" in reports)
//
// Plain values without behaviour.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

/// A value that the row does not state.
struct Assumed {
  std::string key;    ///< of the scenario
  std::string value;  ///< as text, for people
  std::string why;
};

/// What the mapping made of one row.
struct Mapping {
  std::string id;                   ///< the source and the number of the row in it, from 1: `dgxc-24.11/17`
  bool experts = false;             ///< whether the model is an MoE model
  std::string scenario;             ///< JSON, which is YAML; empty: the row is unmapped
  std::vector<Assumed> assumed;     ///< empty if the row is unmapped
  std::vector<std::string> unsaid;  ///< settings without a scenario key, which the forecast ignores
  std::string missing;              ///< why the row is unmapped: `key: reason`; only the first reason is kept
};

/// The outcome of a row.
enum class RowOutcome {
  forecast,   ///< has a forecast
  refused,    ///< has a scenario that is refused: it does not fit in memory, or its split is inconsistent
  unsayable,  ///< is unmapped: see Mapping::missing
  repeated    ///< training steps only: the same step is in steps.json or earlier in the table
};

/// Number of rows that share a missing key, a refusal or a setting without a key.
struct KeyCount {
  std::string key;
  std::size_t rows = 0;
};

}  // namespace fabricast
