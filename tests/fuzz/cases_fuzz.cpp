// Measured cases, as a file of them and as those that a profile holds; and the scenario of each.
#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/measured.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_cases(std::string_view bytes) {
  const std::string text(bytes);
  holds_cases(text);
  const auto cases = taken(text, [&] { return cases_of(text, "file"); });
  if (!cases) return;
  for (const MeasuredCase& c : *cases) {
    require(c.nodes > 0 && c.gpus_per_node > 0 && !c.rows.empty());
    for (const MeasuredRow& row : c.rows) require(row.bytes > 0 && row.time_us > 0);
    require(harness_number(c, "ranks_per_process") >= 1 && harness_number(c, "threads") >= 1);
    taken(text, [&] { return parse_scenario(scenario_of(c), "case").scenario.version; });
  }
  require(cases_in_profile("{\"measured\": " + text + "}", "file").size() == cases->size());
}

}  // namespace fabricast::fuzz
