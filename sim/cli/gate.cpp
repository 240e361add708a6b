// `gate`: floors for acceptance tests, and verdicts on logs.
#include "fabricast/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/core/text.hpp"
#include "measured_site.hpp"
#include "named_log.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

constexpr std::string_view probability_forms = "write e.g. 1/1000, 0.001 or 0.1%; from 1e-9 to 50%";

/// `1/1000`, `0.001` or `0.1%`.
double probability_of(const Options& options) {
  const std::string text = options.text("probability", "1/1000");
  const std::string given = shown(text, 40);
  const std::size_t slash = text.find('/');
  const auto refuse = [&](std::string_view why) {
    return UserError(fmt::format("--probability '{}' {}", given, why), std::string(probability_forms));
  };
  double value = 0;
  if (slash == std::string::npos) {
    const auto ratio = parse_ratio(text);
    if (!ratio) throw refuse("is not a probability");
    value = ratio.value;
  } else {
    const auto above = parse_number(text.substr(0, slash)), below = parse_number(text.substr(slash + 1));
    if (!above || !below || below.value == 0) throw refuse("is not a probability");
    value = above.value / below.value;
  }
  if (!(value >= 1e-9 && value <= 0.5)) throw refuse("is out of range");
  return value;
}

/// The collectives of `--collectives` without repetitions, or that of the scenario.
std::vector<CollectiveOp> operations_of(const Options& options, const World& world) {
  if (!options.has("collectives")) return {world.scenario().workload.collective};
  std::vector<CollectiveOp> list;
  const auto& names = EnumNames<CollectiveOp>::names;
  for (const std::string& word : split(options.text("collectives"), ',')) {
    const auto op = enum_from<CollectiveOp>(word);
    if (!op)
      throw UserError(fmt::format("--collectives: there is no collective '{}'", shown(word, 40)),
                      suggestion(word, std::vector<std::string_view>(names.begin(), names.end())));
    if (std::find(list.begin(), list.end(), *op) == list.end()) list.push_back(*op);
  }
  return list;
}

using GateWriter = std::string (*)(const Gate&);
struct GateFormat {
  const char* name;
  const char* doc;
  GateWriter write;
};
// A table, so that options, their help and the writing of files cannot disagree. The first two also exist for verdicts.
constexpr std::array formats = {
    GateFormat{"json", "write JSON to FILE; - prints it instead of text (as with all formats)", gate_json},
    GateFormat{"yaml", "write the same as YAML to FILE", gate_yaml},
    GateFormat{"env", "write shell variables for nccl-tests to FILE, with their command lines", gate_env},
    GateFormat{"kubernetes", "write a ConfigMap and a Job that runs the test to FILE", gate_kubernetes},
    GateFormat{"slurm", "write a shell script to FILE that runs the test and drains the node", gate_slurm},
};

/// The output path of each format; empty: none.
using GateOutputs = std::array<std::string, formats.size()>;

OutputPlaces places_of(const GateOutputs& to) {
  OutputPlaces places;
  for (std::size_t i = 0; i < formats.size(); ++i) places.emplace_back(formats[i].name, &to[i]);
  return places;
}

/// The JSON of a verdict for a log that contradicts the scenario: `passes` is null.
/// Neither true nor false: a program that reads the file must not take a wrong log for a passed or a failed test.
std::string unjudged_json(const Scenario& scenario, const std::vector<Contradiction>& found) {
  const auto stated = nlohmann::ordered_json::parse(contradictions_json(scenario, found));
  nlohmann::ordered_json j{{"fabricast", stated.at("fabricast")}, {"name", stated.at("name")}, {"passes", nullptr}};
  j["contradictions"] = stated.at("contradictions");
  return j.dump(1) + "\n";
}

void emit_verdict(const GateOutputs& to, const std::string& json, const std::string& text) {
  if (!to[0].empty()) emit(to[0], json);
  if (!to[1].empty()) emit(to[1], yaml_of_json(json));
  if (leaves_standard_output(places_of(to))) emit("-", text);
}

int judge_logs(const Options& options, const World& world, const GateOutputs& to, double probability,
               const RunOptions& how) {
  const std::vector<NamedLog> logs = read_logs(options.list("log"));
  if (const auto found = contradictions_of(logs, world); !found.empty()) {
    emit_verdict(to, unjudged_json(world.scenario(), found), contradictions_text(world.scenario(), found));
    return 1;
  }
  GateVerdict verdict = placed(world.scenario(), [&] {
    // Measurements of the healthy site, not the logs that are judged.
    const MeasuredSite site = site_of(options, world, {});
    return judge(series_of_logs(logs, world), site, probability, how);
  });
  verdict.wrong = wrong_rows_of(logs);
  emit_verdict(to, verdict_json(world.scenario(), verdict), verdict_text(world.scenario(), verdict));
  return verdict.passes() ? 0 : 1;
}

}  // namespace

int gate_verb(const std::vector<std::string>& arguments) {
  Options options("gate",
                  "Writes for each size the floor of bus bandwidth, and the ceiling of time, that a healthy cluster "
                  "misses with a stated probability. With --log, compares logs with them and exits with 1 if a row is "
                  "below its floor.",
                  {"SCENARIO"});
  options.example("fabricast gate node.yaml --measured healthy.log --slurm check.sh");
  options.example("fabricast gate cluster.yaml --measured healthy.log --log today.log");
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("probability", takes("PROBABILITY"),
                "probability that one row of a healthy cluster is below its floor: 1/1000, 0.001 or 0.1% (default: "
                "1/1000)")("collectives", takes("NAME,..."),
                           "collectives, separated by commas (default: the scenario's)")(
      "log", takes_many("LOG")->multitoken(),
      "compare logs of nccl-tests, or CSV of bytes,time_us, with the floors of their own sizes");
  for (const GateFormat& format : formats) options.add()(format.name, takes("FILE"), format.doc);
  options.add()("threads", takes("N"), "number of threads (default: all cores); results do not depend on it");
  if (!options.parse(arguments)) return 0;
  GateOutputs to;
  for (std::size_t i = 0; i < formats.size(); ++i) to[i] = output_path(options, formats[i].name);
  require_own_places(places_of(to));
  if (options.has("log"))
    for (const char* other : {"collectives", "env", "kubernetes", "slurm"})
      if (options.has(other))
        throw UserError(fmt::format("--{} cannot be combined with --log", other),
                        "run `fabricast gate` once for the floors and once for the verdict");
  const double probability = probability_of(options);
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  if (world.scenario().workload.kind != WorkloadKind::collective)
    throw UserError("fabricast gate: the workload of the scenario is not a collective",
                    "e.g. --set 'workload={collective: all_reduce}'");
  if (options.has("log")) return judge_logs(options, world, to, probability, how);
  const Gate gate = placed(world.scenario(), [&] {
    return gate_of(world, operations_of(options, world), site_of(options, world, {}), probability, how);
  });
  placed(world.scenario(), [&] {
    for (std::size_t i = 0; i < formats.size(); ++i)
      if (!to[i].empty()) emit(to[i], formats[i].write(gate));
  });
  if (leaves_standard_output(places_of(to))) emit("-", gate_text(gate));
  return 0;
}

}  // namespace fabricast
