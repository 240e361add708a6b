// `risk`: what failures do to a job.
#include "fabricast/risk/risk.hpp"

#include "commands.hpp"
#include "fabricast/report/step.hpp"
#include "options.hpp"

namespace fabricast {

namespace po = boost::program_options;

int risk_verb(const std::vector<std::string>& arguments) {
  Options options("risk", "What failures do to a job: the single ones that hurt most, and what is left of a month.",
                  {"SCENARIO"});
  add_scenario_options(options);
  options.add()("samples", po::value<std::string>(), "months to draw (default 1000)")(
      "seed", po::value<std::string>(), "of the months and of the sample of components (default 1)")(
      "elements", po::value<std::string>(), "components of each class to simulate (default 4)")(
      "every", "simulate every component in every draw of the network instead; for small fabrics")(
      "json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "csv", po::value<std::string>(), "write CSV likewise: a row per class of failures")(
      "threads", po::value<std::string>(), "number of threads (default: all cores); results do not depend on it");
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
  if (how.every && options.has("elements")) throw UserError("--every and --elements exclude each other");
  const auto world = load_world(options);
  const Risk risk = placed(world->scenario, [&] {
    require_memory(*world);
    return assess(*world, how);
  });
  if (!json.empty()) emit(json, risk_json(*world, risk));
  if (!csv.empty()) emit(csv, risk_csv(risk));
  if (leaves_standard_output(places)) emit("-", risk_text(*world, risk));
  return 0;
}

}  // namespace fabricast
