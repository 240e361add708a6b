// `bill`: the bill of materials of a cluster, its power, and its cost.
#include "commands.hpp"
#include "fabricast/bill/cost.hpp"
#include "options.hpp"

namespace fabricast {

int bill_verb(const std::vector<std::string>& arguments) {
  Options options("bill",
                  "Writes the bill of materials of the scenario's cluster, with ports, racks and power. If the "
                  "scenario names a price file, also writes the cost of the cluster and of steps, tokens or calls.",
                  {"SCENARIO"});
  options.example("fabricast bill cluster.yaml");
  options.example("fabricast bill cluster.yaml --set prices=prices.yaml --csv bill.csv");
  add_scenario_options(options);
  options.add()("json", takes("FILE"), "write JSON to FILE; - prints it instead of text")(
      "csv", takes("FILE"), "write CSV to FILE; - prints it instead of text")(
      "no-forecast", "leave out the cost of steps, tokens or calls, which needs a forecast")(
      "threads", takes("N"), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json"), csv = output_path(options, "csv");
  const OutputPlaces places{{"json", &json}, {"csv", &csv}};
  require_own_places(places);
  const RunOptions how = run_options(options);
  const auto world = load_world(options, Beside::counted);
  placed(world.scenario(), [&] {
    std::optional<Prices> prices;
    if (!world.scenario().prices.empty()) prices = prices_of(world.scenario());
    const Prices* known = prices ? &*prices : nullptr;
    const Bill bill = bill_of(world, known);
    std::optional<Cost> cost;
    std::vector<Work> work;
    if (known) cost = cost_of(bill, *known);
    // Only prices need a forecast: counts and power follow from the scenario.
    if (known && !options.has("no-forecast")) work = work_of(world, how);
    const Cost* sums = cost ? &*cost : nullptr;
    if (!json.empty()) emit(json, bill_json(bill, known, sums, work));
    if (!csv.empty()) emit(csv, bill_csv(bill, sums));
    if (leaves_standard_output(places)) emit("-", bill_text(bill, known, sums, work));
  });
  return 0;
}

}  // namespace fabricast
