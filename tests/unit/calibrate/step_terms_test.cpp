// Terms of the step model, removed one by one: the list names existing parameters, a step without a term is the step
// with that parameter at its neutral value, and removing a cost never makes a step longer.
#include <algorithm>
#include <catch2/catch.hpp>

#include "fabricast/calibrate/step_terms.hpp"
#include "fabricast/report/step.hpp"

namespace fabricast {
namespace {

/// One dense step, one of experts whose host is slow, and the same in CUDA graphs.
std::vector<StepCase> some() {
  std::vector<StepCase> steps;
  for (const StepCase& c : read_steps(shipped_steps_path()))
    if (c.id == "torchtitan-70b-256-async") steps.push_back(c);
  StepCase experts;
  experts.id = experts.source = "experts", experts.measured = Seconds{1};
  experts.scenario =
      "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 1}\nworkload: {kind: training_step, framework: nemo, "
      "precision: fp8, model: {preset: qwen3-30b-a3b, sequence: 4096}, batch: {global: 16, micro: 1}, parallel: "
      "{expert: 8}, overlap: {expert: true}, memory: ignore}\n";
  steps.push_back(experts);
  experts.scenario.insert(experts.scenario.find("memory:"), "cuda_graphs: step, ");
  steps.push_back(experts);
  return steps;
}

TEST_CASE("every term names existing parameters") {
  Hardware h = shipped_hardware();
  for (const StepTerm& term : step_terms())
    for (const std::string_view word : term.parameters) {
      CAPTURE(term.name, word);
      const auto all = h.all_parameters();
      CHECK(std::any_of(all.begin(), all.end(), [&](const auto& p) {
        const bool of_steps = p.first.starts_with("stacks.") || p.first.starts_with("compute.");
        return of_steps && p.first.ends_with("." + std::string(word));
      }));
    }
}

TEST_CASE("without a term no step takes longer, and each term shortens some step") {
  const std::vector<StepCase> steps = some();
  REQUIRE(steps.size() == 3);
  const auto all = steps_without_terms(steps, shipped_hardware());
  REQUIRE(all.size() == step_terms().size() + 1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto world = build_world(parse_scenario(steps[i].scenario, steps[i].id).scenario);
    CHECK(all[0].rows[i].forecast.value == Approx(run_step(world).time.value));
  }
  CHECK_FALSE(all[0].rows[0].experts);
  CHECK(all[0].rows[1].experts);
  for (std::size_t t = 1; t < all.size(); ++t) {
    CAPTURE(all[t].term);
    bool shorter = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // Kernels that are left out also leave less power to GEMMs.
      CHECK(all[t].rows[i].forecast <= all[0].rows[i].forecast * (1 + 1e-4));
      shorter = shorter || all[t].rows[i].forecast < all[0].rows[i].forecast * (1 - 1e-6);
    }
    CHECK(shorter);
  }
  // The host binds the second: without what it launches for routers it is far shorter, and the first does not move.
  CHECK(all[1].rows[1].forecast < 0.8 * all[0].rows[1].forecast);
  CHECK(all[1].rows[0].forecast == all[0].rows[0].forecast);
  CHECK(all[1].rows[2].forecast == all[0].rows[2].forecast);
}

TEST_CASE("the page names the sources that a term explains, with their bias before and after") {
  std::vector<StepsWithout> all(2);
  StepRow dense, experts;
  dense.source = "one", dense.measured = Seconds{1}, dense.forecast = Seconds{1.02};
  experts.source = "two", experts.measured = Seconds{1}, experts.forecast = Seconds{0.99}, experts.experts = true;
  all[0].rows = {dense, experts};
  experts.forecast = Seconds{0.8};
  all[1] = {"launches", {dense, experts}};
  const std::string page = terms_markdown(all);
  CHECK(page.find("| nothing | 2.0 | 1.0 |  |\n") != std::string::npos);
  CHECK(page.find("| launches | 2.0 | 20.0 | two, MoE -1 to -20 % |\n") != std::string::npos);
}

}  // namespace
}  // namespace fabricast
