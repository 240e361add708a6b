// `export`: writes files for NCCL.
#include <fmt/format.h>

#include "commands.hpp"
#include "fabricast/core/fingerprint.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/report/tuner.hpp"
#include "measured_site.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

/// The file to write; `-`: standard output.
std::string place_of(const Options& options) { return options.has("output") ? output_path(options, "output") : "-"; }

void export_tuner(const Options& options, const World& world, const RunOptions& how) {
  emit(place_of(options), tuner_csv(tuner_tables(world, how)));
}

void export_env(const Options& options, const World& world, const RunOptions& how) {
  emit(place_of(options), env_script(advise(world, how)));
}

/// The plugin knows a profile by the fingerprint in its name, so the file's name follows from its content.
void export_profile(const Options& options, const World& world, const RunOptions& how) {
  const MeasuredSite site = site_of(options, world, part_of(how, 0, 0.1));
  const TunerTables tables = tuner_tables(world, part_of(how, 0.1, 0.4));
  const std::vector<TunerOverrides> overrides = tuner_overrides(tables, site.residuals, part_of(how, 0.4, 1));
  const std::string text = tuner_profile(world, overrides);
  std::string path = place_of(options);
  if (path == "-") return emit("-", text);
  constexpr std::string_view ending = ".json";
  if (path.ends_with(ending)) path.resize(path.size() - ending.size());
  path += "." + fingerprint(text) + std::string(ending);
  emit(path, text);
  std::size_t ranges = 0;
  for (const TunerOverrides& o : overrides) ranges += o.ranges.size();
  emit("-", fmt::format("{}: {} range{} of sizes\n", path, ranges, ranges == 1 ? "" : "s"));
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
      "Writes the fastest settings for the scenario's cluster in a form that NCCL reads. WHAT is `tuner`, a table for "
      "NCCL's example tuner plugin, `env`, a shell script that sets its variables, or `profile`, for "
      "libnccl-tuner-fabricast.so: only sizes at which a gain is certain to 90 %, in FILE.FINGERPRINT.json.",
      {"WHAT", "SCENARIO"});
  options.example("fabricast export tuner cluster.yaml --output tuner.csv");
  options.example("fabricast export env cluster.yaml");
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
  if (const WorkloadKind kind = world.scenario().workload.kind; kind != WorkloadKind::collective)
    throw UserError(
        fmt::format("fabricast export: advice is for one collective, and the workload is a {}", name_of(kind)),
        "--set 'workload={collective: all_gather}' for one of its collectives, which `run` lists");
  placed(world.scenario(), [&] { found->write(options, world, how); });
  return 0;
}

}  // namespace fabricast
