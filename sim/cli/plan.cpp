// `plan`: what to choose, by forecasts of all that could be.
#include <fmt/format.h>

#include <array>

#include "commands.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/report/plan.hpp"
#include "options.hpp"

namespace fabricast {

namespace po = boost::program_options;

namespace {

struct PlanOutput {
  std::string text, json, csv;
};

struct PlanQuestion {
  const World& world;
  std::size_t limit, top;
  const RunOptions& how;
};

PlanOutput search_parallel(const PlanQuestion& q) {
  if (q.world.scenario.workload.kind != WorkloadKind::training_step)
    throw UserError::at("workload.kind", "--search parallel is for training steps", "kind: training_step");
  const PlanResult result = plan_parallel(q.world, q.limit, q.how);
  constexpr std::size_t rows_of_text = 20;
  return {plan_text(q.world, result, q.top > 0 ? q.top : rows_of_text), plan_json(q.world, result, q.top),
          plan_csv(result, q.top)};
}

struct PlanSearch {
  std::string_view name, summary;
  PlanOutput (*run)(const PlanQuestion&);
};
constexpr std::array searches = {
    PlanSearch{"parallel", "splits of a training step over its GPUs, the fastest first", search_parallel},
};

}  // namespace

int plan_verb(const std::vector<std::string>& arguments) {
  Options options("plan", "Searches for the best of many configurations, by forecasts of each.", {"SCENARIO"});
  options.words("search", names_of(searches));
  add_scenario_options(options);
  options.add()("search", po::value<std::string>(), "what to vary: parallel, splits of a training step over its GPUs")(
      "limit", po::value<std::string>(), "forecasts at most (default 200); a quick estimate chooses them")(
      "top", po::value<std::string>(), "rows to show (default 20 as text, all as JSON and CSV)")(
      "json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "csv", po::value<std::string>(), "write CSV likewise")(
      "threads", po::value<std::string>(), "number of threads (default: all cores); results do not depend on it");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json"), csv = output_path(options, "csv");
  if (json == "-" && csv == "-")
    throw UserError("--json - and --csv - both want standard output", "give one of them a file");
  if (!json.empty() && json != "-" && json == csv)
    throw UserError(fmt::format("--json and --csv both want '{}'", json));
  if (!options.has("search")) throw UserError("fabricast plan: --search is missing", "e.g. --search parallel");
  const std::string name = options.text("search");
  const PlanSearch* search = find_by_name(searches, name);
  if (!search)
    throw UserError(fmt::format("fabricast plan: there is no search '{}'", name), suggestion(name, names_of(searches)));
  const auto limit = static_cast<std::size_t>(options.integer("limit", 200, 1, 1'000'000));
  const auto top = static_cast<std::size_t>(options.integer("top", 0, 1, 1'000'000));
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  const PlanOutput out = placed(world->scenario, [&] { return search->run({*world, limit, top, how}); });
  if (!json.empty()) emit(json, out.json);
  if (!csv.empty()) emit(csv, out.csv);
  if (json != "-" && csv != "-") emit("-", out.text);
  return 0;
}

}  // namespace fabricast
