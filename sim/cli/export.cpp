// `export`: writes files for NCCL.
#include <fmt/format.h>

#include "commands.hpp"
#include "fabricast/core/fingerprint.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/report/step_settings.hpp"
#include "fabricast/report/tuner.hpp"
#include "measured_site.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

/// The file to write; `-`: standard output.
std::string place_of(const Options& options) { return options.has("output") ? output_path(options, "output") : "-"; }

bool is_collective(const World& world) { return world.scenario().workload.kind == WorkloadKind::collective; }

// The example plugin runs a call without a line on one channel, so the calls that a step does not make need lines too:
// those for collectives by themselves.
void export_tuner(const Options& options, const World& world, const RunOptions& how) {
  if (is_collective(world)) return emit(place_of(options), tuner_csv(tuner_tables(world, how)));
  const std::vector<TunerRules> rules = step_tuner_rules(world, false, part_of(how, 0, 0.7));
  emit(place_of(options), tuner_csv(tuner_tables(collective_world(world), part_of(how, 0.7, 1)), rules));
}

void export_env(const Options& options, const World& world, const RunOptions& how) {
  emit(place_of(options),
       is_collective(world) ? env_script(advise(world, how)) : step_settings_script(step_settings(world, how)));
}

/// The plugin knows a profile by the fingerprint in its name, so the file's name follows from its content.
void write_profile(const Options& options, const World& world, const std::vector<TunerRules>& rules) {
  const std::string text = tuner_profile(world, rules);
  std::string path = place_of(options);
  if (path == "-") return emit("-", text);
  constexpr std::string_view ending = ".json";
  if (path.ends_with(ending)) path.resize(path.size() - ending.size());
  path += "." + fingerprint(text) + std::string(ending);
  emit(path, text);
  std::size_t ranges = 0;
  for (const TunerRules& table : rules) ranges += table.rules.size();
  emit("-", fmt::format("{}: {} of sizes\n", path, counted(ranges, "range")));
}

void export_profile(const Options& options, const World& world, const RunOptions& how) {
  require_stated_version(world);
  if (!is_collective(world)) return write_profile(options, world, step_tuner_rules(world, true, how));
  const MeasuredSite site = site_of(options, world, part_of(how, 0, 0.1));
  const TunerTables tables = tuner_tables(world, part_of(how, 0.1, 0.4));
  write_profile(options, world, tuner_rules(tables, site.residuals, part_of(how, 0.4, 1)));
}

struct Export {
  std::string_view name;
  void (*write)(const Options& options, const World& world, const RunOptions& how);
};

constexpr std::array exports = {Export{"tuner", export_tuner}, Export{"env", export_env},
                                Export{"profile", export_profile}};

}  // namespace

int export_verb(const std::vector<std::string>& arguments) {
  Options options(
      "export",
      "Writes the fastest settings for the scenario's collective or step in a form that NCCL reads. WHAT is `tuner`, a "
      "table for "
      "NCCL's example tuner plugin, `env`, a shell script that sets its variables, or `profile`, for "
      "libnccl-tuner-fabricast.so: only sizes whose 90 % interval of the gain is above 0, in FILE.FINGERPRINT.json.",
      {"WHAT", "SCENARIO"});
  options.example("fabricast export tuner cluster.yaml --output tuner.csv");
  options.example("fabricast export env cluster.yaml");
  options.example("fabricast export env training_fsdp_7b.yaml");
  options.example("fabricast export profile cluster.yaml --measured all_reduce.log --output cluster");
  options.words("WHAT", names_of(exports));
  add_scenario_options(options);
  options.add()("output,o", takes("FILE"), "write to FILE (default: standard output)")(
      "threads", takes("N"), "number of threads (default: all cores)");
  add_measured_option(options);
  if (!options.parse(arguments)) return 0;
  const std::string what = options.get<std::string>("WHAT");
  const Export* found = find_by_name(exports, what);
  if (!found)
    throw UserError(fmt::format("fabricast export: unknown export '{}'", what), suggestion(what, names_of(exports)));
  if (what != "profile" && options.has("measured"))
    throw UserError("--measured is for `export profile`", "leave it out");
  (void)place_of(options);  // a path that cannot be written is an error before work that takes long
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  if (!is_collective(world) && options.has("measured"))
    throw UserError("--measured is for profiles of collectives, and the workload is a step", "leave it out");
  placed(world.scenario(), [&] { found->write(options, world, how); });
  return 0;
}

}  // namespace fabricast
