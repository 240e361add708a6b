// `risk`: the effect of failures on a job.
#include "fabricast/risk/risk.hpp"

#include "commands.hpp"
#include "fabricast/report/step.hpp"
#include "options.hpp"

namespace fabricast {

int risk_verb(const std::vector<std::string>& arguments) {
  Options options(
      "risk",
      "Forecasts the effect of failures on a job: the worst single failures, and the fraction of a month that "
      "is useful work (goodput).",
      {"SCENARIO"});
  options.example("fabricast risk training.yaml");
  options.example("fabricast risk training.yaml --set reliability.planes=2 --json risk.json");
  add_scenario_options(options);
  options.add()("samples", takes("N"), "number of months to sample (default: 1000)")(
      "seed", takes("N"), "seed of the months and of the sampled components (default: 1)")(
      "elements", takes("N"), "number of components of each class to simulate (default: 4)")(
      "every", "simulate every component in every sample of the network instead; for small fabrics")(
      "json", takes("FILE"), "write JSON to FILE; - prints it instead of text")(
      "csv", takes("FILE"), "write CSV to FILE, a row per class of failures; - prints it instead of text")(
      "threads", takes("N"), "number of threads (default: all cores); results do not depend on it");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json"), csv = output_path(options, "csv");
  const OutputPlaces places{{"json", &json}, {"csv", &csv}};
  require_own_places(places);
  RiskOptions how;
  how.run = run_options(options);
  how.samples = options.integer("samples", how.samples, 1, 1'000'000);
  how.seed = static_cast<std::uint64_t>(options.integer("seed", 1, 0, 2'000'000'000));
  how.elements = options.integer("elements", how.elements, 1, 100'000);
  how.every = options.has("every");
  if (how.every && options.has("elements")) throw UserError("--every cannot be combined with --elements");
  const auto world = load_world(options);
  const Risk risk = placed(world.scenario(), [&] {
    // A job that does not fit has no failures to forecast.
    require_memory(world);
    return assess(world, how);
  });
  if (!json.empty()) emit(json, risk_json(risk));
  if (!csv.empty()) emit(csv, risk_csv(risk));
  if (leaves_standard_output(places)) emit("-", risk_text(risk));
  return 0;
}

}  // namespace fabricast
