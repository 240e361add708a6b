// Floors and verdicts as JSON and YAML. docs/formats.md documents the fields.
#include <nlohmann/json.hpp>

#include "../common/json_parts.hpp"
#include "fabricast/gate/gate.hpp"
#include "fabricast/report/report.hpp"
#include "gate_rows.hpp"

namespace fabricast {

namespace {

// `bytes_printed` is the size in the tool's table, by which a reader finds the row; 0 if the tool skips the size.
Json gate_row_json(const GateRow& r) {
  return {{"collective", name_of(r.op)},
          {"bytes", r.asked},
          {"bytes_printed", r.printed ? r.bytes : 0},
          {"expected_us", digits(microseconds(r.expected))},
          {"ceiling_us", digits(microseconds(r.ceiling))},
          {"expected_busbw_gbps", digits(gigabytes_per_second(r.expected_bandwidth))},
          {"floor_busbw_gbps", digits(gigabytes_per_second(r.floor_bandwidth))},
          {"floor_share", digits(r.expected / r.ceiling)},
          {"known", digits(r.known)}};
}

Json sweep_json(const World& world, const GateSweep& sweep) {
  return {{"program", test_program(sweep.op)},
          {"arguments", test_arguments(world.scenario(), sweep)},
          {"expected_average_busbw_gbps", digits(gigabytes_per_second(sweep.expected_average))},
          {"floor_average_busbw_gbps", digits(gigabytes_per_second(sweep.floor_average))},
          {"nccl_tests_min_bw", digits(minimum_of_tests(sweep))}};
}

// `chance` is the probability that a healthy cluster is as slow: it says how clear a verdict is, which above and below
// do not.
Json judgement_json(const GateJudgement& r) {
  return {{"collective", name_of(r.op)},
          {"bytes", r.bytes},
          {"nodes", r.nodes},
          {"measured_us", digits(microseconds(r.measured))},
          {"expected_us", digits(microseconds(r.expected))},
          {"ceiling_us", digits(microseconds(r.ceiling))},
          {"busbw_gbps", digits(gigabytes_per_second(r.bandwidth))},
          {"floor_busbw_gbps", digits(gigabytes_per_second(r.floor_bandwidth))},
          {"chance", digits(r.chance)},
          {"verdict", r.below() ? "below" : "above"}};
}

}  // namespace

std::string gate_json(const Gate& gate) {
  const World& world = gate.world;
  const Communicator& comm = world.planner().comm;
  Json j{{"fabricast", version_text()},
         {"name", world.scenario().name},
         {"probability", gate.probability},
         {"probability_of", "one row of a healthy cluster, like the measured ones, is below its floor"},
         {"measured_rows", gate.measured},
         {"ranks", comm.ranks()},
         {"nodes", world.scenario().cluster.nodes},
         {"gpu", comm.node.gpu.name},
         {"nccl_version", to_text(comm.version)}};
  j["rows"] = Json::array();
  for (const GateRow& row : gate.rows) j["rows"].push_back(gate_row_json(row));
  j["tests"] = Json::array();
  for (const GateSweep& sweep : gate.sweeps) j["tests"].push_back(sweep_json(world, sweep));
  return j.dump(1) + "\n";
}

std::string verdict_json(const Scenario& scenario, const GateVerdict& verdict) {
  Json j{{"fabricast", version_text()},
         {"name", scenario.name},
         {"passes", verdict.passes()},
         {"probability", verdict.probability},
         {"rows_below", verdict.below()},
         {"rows_below_by_chance", digits(verdict.probability * static_cast<double>(verdict.rows.size()))}};
  for (const WrongRow& w : verdict.wrong)
    j["wrong_results"].push_back({{"collective", name_of(w.op)}, {"bytes", w.bytes}, {"results", w.results}});
  j["rows"] = Json::array();
  for (const GateJudgement& row : verdict.rows) j["rows"].push_back(judgement_json(row));
  return j.dump(1) + "\n";
}

std::string gate_yaml(const Gate& gate) { return yaml_of_json(gate_json(gate)); }

std::string verdict_yaml(const Scenario& scenario, const GateVerdict& verdict) {
  return yaml_of_json(verdict_json(scenario, verdict));
}

}  // namespace fabricast
