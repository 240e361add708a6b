// Floors for acceptance tests, and verdicts on logs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fabricast/ask/ask.hpp"
#include "fabricast/calibrate/least_time.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "forms.hpp"

namespace fabricast {

double probability_from(const std::string& text, const std::string& label) {
  constexpr std::string_view forms = "write e.g. 1/1000, 0.001 or 0.1%; from 1e-9 to 50%";
  const std::size_t slash = text.find('/');
  const auto refuse = [&](std::string_view why) {
    return UserError(fmt::format("{} '{}' {}", label, shown(text, 40), why), std::string(forms));
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

std::vector<CollectiveOp> operations_from(const std::vector<std::string>& names, const std::string& label) {
  std::vector<CollectiveOp> list;
  const auto& known = EnumNames<CollectiveOp>::names;
  for (const std::string& word : names) {
    const auto op = enum_from<CollectiveOp>(word);
    if (!op)
      throw UserError(fmt::format("{}: there is no collective '{}'", label, shown(word, 40)),
                      suggestion(word, std::vector<std::string_view>(known.begin(), known.end())));
    if (std::find(list.begin(), list.end(), *op) == list.end()) list.push_back(*op);
  }
  return list;
}

namespace {

/// The JSON of a verdict for a log that contradicts the scenario: `passes` is null.
/// Neither true nor false: a program that reads the file must not take a wrong log for a passed or a failed test.
std::string unjudged_json(const Scenario& scenario, const std::vector<Contradiction>& found) {
  const auto stated = nlohmann::ordered_json::parse(contradictions_json(scenario, found));
  nlohmann::ordered_json j{{"fabricast", stated.at("fabricast")}, {"name", stated.at("name")}, {"passes", nullptr}};
  j["contradictions"] = stated.at("contradictions");
  return j.dump(1) + "\n";
}

/// An answer whose YAML follows from its JSON.
Answer verdict_answer(std::function<std::string()> json, std::function<std::string()> text, bool good) {
  Answer answer;
  answer.forms = {{"json", json}, {"yaml", [json] { return yaml_of_json(json()); }}, {"text", std::move(text)}};
  answer.good = good;
  return answer;
}

Answer judge_logs(const World& world, const GateQuestion& question, const RunOptions& how) {
  if (auto found = contradictions_of(question.logs, world); !found.empty()) {
    const auto kept = std::make_shared<const std::vector<Contradiction>>(std::move(found));
    return verdict_answer([world, kept] { return unjudged_json(world.scenario(), *kept); },
                          [world, kept] { return contradictions_text(world.scenario(), *kept); }, false);
  }
  GateVerdict verdict = placed(world.scenario(), [&] {
    // Measurements of the healthy site, not the logs that are judged.
    const MeasuredSite site = site_of(question.measured, world, {});
    const std::vector<MeasuredSeries> measured = series_of_logs(question.logs, world);
    // Times that are too short for the hardware pass every floor.
    refuse_impossible(measured, world.scenario());
    return judge(measured, site, question.probability, how);
  });
  verdict.wrong = wrong_rows_of(question.logs);
  const auto kept = std::make_shared<const GateVerdict>(std::move(verdict));
  return verdict_answer([world, kept] { return verdict_json(world.scenario(), *kept); },
                        [world, kept] { return verdict_text(world.scenario(), *kept); }, kept->passes());
}

}  // namespace

Answer answer_gate(const World& world, const GateQuestion& question, const RunOptions& how) {
  if (world.scenario().workload.kind != WorkloadKind::collective)
    throw UserError("fabricast gate: the workload of the scenario is not a collective",
                    "e.g. --set 'workload={collective: all_reduce}'");
  if (!question.logs.empty()) return judge_logs(world, question, how);
  std::vector<CollectiveOp> operations = question.operations;
  if (operations.empty()) operations = {world.scenario().workload.collective};
  Gate gate = placed(world.scenario(), [&] {
    return gate_of(world, operations, site_of(question.measured, world, {}), question.probability, how);
  });
  return answer_with<Gate>(std::move(gate), {{"json", gate_json},
                                             {"yaml", gate_yaml},
                                             {"env", gate_env},
                                             {"kubernetes", gate_kubernetes},
                                             {"slurm", gate_slurm},
                                             {"text", gate_text}});
}

}  // namespace fabricast
