// `export`: files for NCCL.
#include <fmt/format.h>

#include "commands.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/report/tuner.hpp"
#include "options.hpp"

namespace fabricast {

namespace po = boost::program_options;

namespace {

struct Export {
  std::string_view name;
  std::string (*write)(const World& world, const RunOptions& options);
};

constexpr std::array exports = {
    Export{"tuner", [](const World& w, const RunOptions& options) { return tuner_csv(w, tuner_tables(w, options)); }},
    Export{"env", [](const World& w, const RunOptions& options) { return env_script(w, advise(w, options)); }},
};

}  // namespace

int export_verb(const std::vector<std::string>& arguments) {
  Options options(
      "export",
      "Writes what is fastest on the scenario's cluster in a form that NCCL takes: `tuner`, the table of its "
      "example tuner plugin; `env`, a shell script that sets its variables.",
      {"WHAT", "SCENARIO"});
  options.words("WHAT", names_of(exports));
  add_scenario_options(options);
  options.add()("output,o", po::value<std::string>(), "file to write (default: standard output)")(
      "threads", po::value<std::string>(), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string what = options.get<std::string>("WHAT");
  const Export* found = find_by_name(exports, what);
  if (!found)
    throw UserError(fmt::format("fabricast export: unknown word '{}'", what), suggestion(what, names_of(exports)));
  const std::string output = options.has("output") ? output_path(options, "output") : "-";
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  if (const WorkloadKind kind = world->scenario.workload.kind; kind != WorkloadKind::collective)
    throw UserError(fmt::format("fabricast export: advice is for one collective, and the workload is a {}", name_of(kind)),
                    "--set 'workload={collective: all_gather}' for one of its collectives, which `run` lists");
  emit(output, placed(world->scenario, [&] { return found->write(*world, how); }));
  return 0;
}

}  // namespace fabricast
