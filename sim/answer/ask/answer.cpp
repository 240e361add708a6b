// Forms of an answer, and the world that questions are asked of.
#include "fabricast/ask/answer.hpp"

#include <algorithm>

#include "fabricast/jobs/others.hpp"

namespace fabricast {

bool Answer::has(std::string_view form) const {
  return std::any_of(forms.begin(), forms.end(), [&](const Form& f) { return f.name == form; });
}

std::string Answer::write(std::string_view form) const {
  for (const Form& f : forms)
    if (f.name == form) return f.write();
  FABRICAST_CHECK(false, "an answer without the form that is asked for");
}

World world_of(Scenario scenario, std::vector<Diagnostic>& warnings) {
  Scenario names;  // outlives the scenario's move into the world
  names.file = scenario.file;
  names.places = scenario.places;
  names.fabric_places = scenario.fabric_places;
  World world = placed(names, [&] { return build_world(std::move(scenario)); });
  for (Diagnostic w : world.warnings()) {
    names.locate(w);
    warnings.push_back(std::move(w));
  }
  return world;
}

// A warning and not an error: most questions can be answered for the job alone, as long as the answer says so.
std::optional<Diagnostic> others_left_out(const World& world) {
  if (!has_others(world.scenario())) return {};
  Diagnostic d{Diagnostic::Severity::warning,
               {},
               world.scenario().jobs.empty() ? "background" : "jobs",
               "left out here: the job is treated as if it were alone",
               "`fabricast run` and `fabricast jobs` include other jobs and flows"};
  world.scenario().locate(d);
  return d;
}

Bytes middle_size(const Scenario& scenario) {
  const auto sizes = scenario.sizes();
  return Bytes{sizes[sizes.size() / 2]};
}

}  // namespace fabricast
