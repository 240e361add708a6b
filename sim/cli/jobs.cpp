// `jobs`: forecasts several jobs on one fabric.
#include "fabricast/jobs/jobs.hpp"
#include "commands.hpp"
#include "options.hpp"

namespace fabricast {

int jobs_verb(const std::vector<std::string>& arguments) {
  Options options(
      "jobs",
      "Forecasts each job of a scenario alone and together with all others: which jobs slow each other down, "
      "on which links, and which placement of the scenario's own job would be faster.",
      {"SCENARIO"});
  options.example("fabricast jobs cluster.yaml");
  options.example("fabricast jobs cluster.yaml --size 1GiB --json jobs.json");
  add_scenario_options(options);
  options.add()("size", takes("SIZE"), "message size of the scenario's own collective (default: its largest)")(
      "json", takes("FILE"), "write JSON to FILE; - prints it instead of text")(
      "csv", takes("FILE"), "write CSV to FILE; - prints it instead of text")(
      "threads", takes("N"), "number of threads (default: all cores); results do not depend on it");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json"), csv = output_path(options, "csv");
  const OutputPlaces places{{"json", &json}, {"csv", &csv}};
  require_own_places(places);
  const RunOptions how = run_options(options);
  const auto world = load_world(options, Beside::counted);
  const bool call = world.scenario().workload.kind == WorkloadKind::collective;
  if (!call && options.has("size")) throw UserError("--size is for collectives, but the workload is a step");
  // The largest size: interference of jobs is about bandwidth.
  const std::int64_t size = !call                 ? 0
                            : options.has("size") ? chosen_size(options, world)
                                                  : world.scenario().sizes().back();
  const JobsForecast found = placed(world.scenario(), [&] { return forecast_jobs(world, size, how); });
  if (!json.empty()) emit(json, jobs_json(found));
  if (!csv.empty()) emit(csv, jobs_csv(found));
  if (leaves_standard_output(places)) emit("-", jobs_text(found));
  return 0;
}

}  // namespace fabricast
