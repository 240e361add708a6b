// Rows that are one step: the same run stands in several tables, or twice in one.
//
// The same GPUs, model, batch, precision and time make a row a repetition of a known step. Rows of one table must agree in
// software and split as well, as two of them may take the same time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/calibrate/published_steps.hpp"
#include "fabricast/calibrate/steps.hpp"

namespace fabricast::published {

struct StepIdentity {
  std::string run;  ///< what ran, on how many GPUs; not how it was split, as one table may say what others leave open
  double seconds = 0;
  std::string id;
};

class Repeats {
 public:
  explicit Repeats(const std::vector<StepCase>& known);
  /// The id of the same step, known or asked for earlier; empty: none.
  std::string of(const MappedRow& row);

 private:
  std::vector<StepIdentity> known_;
  std::map<std::string, std::vector<StepIdentity>> rows_;
};

}  // namespace fabricast::published
