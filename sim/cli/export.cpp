// `export`: writes files for NCCL.
#include <fmt/format.h>

#include "commands.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/report/tuner.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

struct Export {
  std::string_view name;
  std::string (*write)(const World& world, const RunOptions& options);
};

constexpr std::array exports = {
    Export{"tuner", [](const World& w, const RunOptions& options) { return tuner_csv(tuner_tables(w, options)); }},
    Export{"env", [](const World& w, const RunOptions& options) { return env_script(advise(w, options)); }},
};

}  // namespace

int export_verb(const std::vector<std::string>& arguments) {
  Options options(
      "export",
      "Writes the fastest settings for the scenario's cluster in a form that NCCL reads. WHAT is `tuner`, a table for "
      "NCCL's example tuner plugin, or `env`, a shell script that sets its variables.",
      {"WHAT", "SCENARIO"});
  options.example("fabricast export tuner cluster.yaml --output tuner.csv");
  options.example("fabricast export env cluster.yaml");
  options.words("WHAT", names_of(exports));
  add_scenario_options(options);
  options.add()("output,o", takes("FILE"), "write to FILE (default: standard output)")(
      "threads", takes("N"), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string what = options.get<std::string>("WHAT");
  const Export* found = find_by_name(exports, what);
  if (!found)
    throw UserError(fmt::format("fabricast export: unknown export '{}'", what), suggestion(what, names_of(exports)));
  const std::string output = options.has("output") ? output_path(options, "output") : "-";
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  if (const WorkloadKind kind = world.scenario().workload.kind; kind != WorkloadKind::collective)
    throw UserError(
        fmt::format("fabricast export: advice is for one collective, and the workload is a {}", name_of(kind)),
        "--set 'workload={collective: all_gather}' for one of its collectives, which `run` lists");
  emit(output, placed(world.scenario(), [&] { return found->write(world, how); }));
  return 0;
}

}  // namespace fabricast
