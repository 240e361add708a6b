// What texts begin with: the version, the subject, and what else runs on the fabric.
#include <fmt/format.h>

#include "fabricast/core/text.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/scenario/traffic_classes.hpp"

namespace fabricast {

// Names of scenarios are free text. A line break in one would end the comment, and the shell or the tuner plugin would
// read what follows as a command or as a line of the table.
std::string comment_text(const std::string& text) {
  constexpr std::size_t most = 100;
  return printable(std::string_view(text).substr(0, most));
}

std::string heading_line(const std::string& subject) {
  const std::string space = subject.empty() ? "" : "   ";
  return fmt::format("# fabricast {}{}{}\n", version_text(), space, comment_text(subject));
}

// Commands that forecast the job alone, such as `explain`, leave `world.beside()` empty, and the line says so.
std::string beside_line(const World& world) {
  const Scenario& s = world.scenario();
  if (s.jobs.empty() && s.background.empty()) return {};
  std::vector<std::string> names;
  for (const JobSpec& job : s.jobs)
    names.push_back(fmt::format("{} ({} nodes){}", job.name, job.nodes, in_class(world, class_of_job(world, job))));
  for (const BackgroundSpec& flows : s.background)
    names.push_back(flows.name + in_class(world, class_of_flows(world, flows)));
  const std::string own = in_class(world, class_of_main(world));
  return fmt::format("# {}: {}{}\n", world.beside().empty() ? "left out, as if the job were alone" : "concurrent with",
                     fmt::join(names, ", "), own.empty() ? own : "; the job" + own);
}

}  // namespace fabricast
