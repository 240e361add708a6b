// A plan: a scenario with `sweep:` and `objective:`. Before a NUL, if there is one, `--sweep` words, one a line.
#include "fabricast/core/text.hpp"
#include "fabricast/plan/decision.hpp"
#include "fabricast/scenario/study.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_study(std::string_view bytes) {
  const auto end = bytes.find('\0');
  std::vector<std::string> words;
  if (end != std::string_view::npos) words = split(bytes.substr(0, end), '\n');
  const std::string text(end == std::string_view::npos ? bytes : bytes.substr(end + 1));
  const auto study = taken(text, [&] { return parse_study(text, "file", {}, words); });
  if (!study) return;
  const std::size_t rows = row_count(*study);
  require(rows <= most_rows);
  for (const SweepAxis& axis : study->axes) require(!axis.values.empty());
  taken(text, [&] { return objective_of(*study).metric; });
  if (rows == 0) return;
  require(choices_of(*study, rows - 1).size() == study->axes.size());
  taken(text, [&] { return scenario_of(*study, rows - 1).version; });
}

}  // namespace fabricast::fuzz
