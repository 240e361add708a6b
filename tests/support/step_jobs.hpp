// Steps of the scenarios in scenarios/, and changes of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabricast/core/file.hpp"
#include "fabricast/report/step.hpp"

namespace fabricast::test {

using Sets = std::vector<std::string>;

inline Sets both(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// \param name  of scenarios/step_NAME.yaml; \param set  `path=value` words
inline World step_world(const std::string& name, const Sets& set = {}) {
  const std::string file = std::string(FABRICAST_SOURCE_DIR) + "/scenarios/step_" + name + ".yaml";
  return build_world(parse_scenario(read_file(file), file, set).scenario);
}

inline StepForecast step(const std::string& name, const Sets& set = {}) { return run_step(step_world(name, set)); }

inline double step_seconds(const std::string& name, const Sets& set = {}) { return step(name, set).time.value; }

/// Seconds that a step's GPUs wait for communication, mean over all.
inline double exposed(const StepForecast& f) {
  double sum = 0;
  for (const Seconds time : f.mean.exposed) sum += time.value;
  return sum;
}

}  // namespace fabricast::test
