// `bill`: what is to be bought, what it draws, and what it costs.
#include "commands.hpp"
#include "fabricast/bill/cost.hpp"
#include "options.hpp"

namespace fabricast {

namespace po = boost::program_options;

int bill_verb(const std::vector<std::string>& arguments) {
  Options options("bill",
                  "Lists what the scenario's cluster is made of, with ports, power, and where the scenario names "
                  "prices what it costs, also for what the job does.",
                  {"SCENARIO"});
  add_scenario_options(options);
  options.add()("json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "csv", po::value<std::string>(), "write CSV likewise")(
      "no-forecast", "leave out what steps, tokens or calls cost, which takes a forecast")(
      "threads", po::value<std::string>(), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json"), csv = output_path(options, "csv");
  const OutputPlaces places{{"json", &json}, {"csv", &csv}};
  require_own_places(places);
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  placed(world->scenario, [&] {
    std::optional<Prices> prices;
    if (!world->scenario.prices.empty()) prices = prices_of(world->scenario);
    const Prices* known = prices ? &*prices : nullptr;
    const Bill bill = bill_of(*world, known);
    std::optional<Cost> cost;
    std::vector<Work> work;
    if (known) cost = cost_of(bill, *known);
    if (known && !options.has("no-forecast")) work = work_of(*world, how);
    const Cost* sums = cost ? &*cost : nullptr;
    if (!json.empty()) emit(json, bill_json(*world, bill, known, sums, work));
    if (!csv.empty()) emit(csv, bill_csv(bill, sums));
    if (leaves_standard_output(places)) emit("-", bill_text(*world, bill, known, sums, work));
  });
  return 0;
}

}  // namespace fabricast
