// `jobs`: several jobs on one fabric.
#include "commands.hpp"
#include "fabricast/jobs/jobs.hpp"
#include "options.hpp"

namespace fabricast {

namespace po = boost::program_options;

int jobs_verb(const std::vector<std::string>& arguments) {
  Options options("jobs",
                  "Forecasts each job of a scenario alone and beside all others: who slows whom, on which links, and "
                  "where the scenario's own job would better be.",
                  {"SCENARIO"});
  add_scenario_options(options);
  options.add()("size", po::value<std::string>(),
                "the size of the scenario's own call, if it is a collective (default: its largest)")(
      "json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "csv", po::value<std::string>(), "write CSV likewise")(
      "threads", po::value<std::string>(), "number of threads (default: all cores); results do not depend on it");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json"), csv = output_path(options, "csv");
  const OutputPlaces places{{"json", &json}, {"csv", &csv}};
  require_own_places(places);
  const RunOptions how = run_options(options);
  const auto world = load_world(options, Beside::counted);
  const bool call = world->scenario.workload.kind == WorkloadKind::collective;
  if (!call && options.has("size")) throw UserError("--size is for collectives, and this is a step");
  const std::int64_t size = !call ? 0 : options.has("size") ? chosen_size(options, *world) : world->scenario.sizes().back();
  const JobsForecast found = placed(world->scenario, [&] { return forecast_jobs(*world, size, how); });
  if (!json.empty()) emit(json, jobs_json(*world, found));
  if (!csv.empty()) emit(csv, jobs_csv(found));
  if (leaves_standard_output(places)) emit("-", jobs_text(*world, found));
  return 0;
}

}  // namespace fabricast
