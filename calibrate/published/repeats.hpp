// Finds rows that report the same step: a run may be in several tables, or twice in one.
//
// A row repeats a known step if GPUs, model, batch, precision and time are the same. Two rows of tables must also agree
// in software and split, because different splits may take the same time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/calibrate/published_steps.hpp"
#include "fabricast/calibrate/steps.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast::published {

struct StepIdentity {
  std::string run;  ///< GPUs, model, batch and precision. Not the split: one table may state what another leaves open.
  Seconds time;
  std::string id;
};

class Repeats {
 public:
  explicit Repeats(const std::vector<StepCase>& known);
  /// The id of the same step, either known or of an earlier call. Empty if the row is new; it is then remembered.
  std::string of(const MappedRow& row);

 private:
  std::vector<StepIdentity> known_;
  std::map<std::string, std::vector<StepIdentity>> rows_;
};

}  // namespace fabricast::published
