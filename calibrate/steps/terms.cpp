// What each term of the step model contributes: errors with all terms against errors without one. Parameters are not
// fitted again, so 16 forecasts per step are enough, and the table shows what a term does and not whether others could
// replace it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fabricast/calibrate/step_terms.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast {

namespace {

Hardware without(Hardware hardware, const StepTerm& term) {
  if (term.feature)
    for (auto& [name, stack] : hardware.stacks) stack.*term.feature = false;
  for (const auto& [path, ref] : hardware.all_parameters()) {
    if (!path.starts_with("compute.") && !path.starts_with("stacks.")) continue;
    const std::string_view word = std::string_view(path).substr(path.rfind('.') + 1);
    // For all GPUs and software generations alike; a term is a piece of the model and not of one machine.
    if (std::find(term.parameters.begin(), term.parameters.end(), word) != term.parameters.end())
      ref.parameter->value = term.nothing;
  }
  return hardware;
}

std::map<std::string, StepSummary> by_source(const std::vector<StepRow>& rows, bool experts) {
  std::vector<StepRow> some;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(some),
               [&](const StepRow& row) { return row.experts == experts; });
  std::map<std::string, StepSummary> found;
  for (const StepSummary& s : summarize(some)) found[s.source + (experts ? ", MoE" : "")] = s;
  return found;
}

/// The sources whose mean error grows most without a term, with their bias before and after.
std::string explained(const StepsWithout& with, const StepsWithout& less) {
  constexpr std::size_t shown = 3;
  constexpr double least = 0.005;
  std::vector<std::pair<double, std::string>> worse;
  for (const bool experts : {false, true}) {
    const auto before = by_source(with.rows, experts), after = by_source(less.rows, experts);
    for (const auto& [source, b] : before)
      if (const StepSummary& a = after.at(source); a.mean - b.mean > least)
        worse.emplace_back(b.mean - a.mean, fmt::format("{} {:+.0f} to {:+.0f} %", source, 100 * b.bias, 100 * a.bias));
  }
  // Differences are negative, so the largest growth comes first.
  std::sort(worse.begin(), worse.end());
  std::string out;
  for (std::size_t i = 0; i < std::min(shown, worse.size()); ++i) out += (i > 0 ? "; " : "") + worse[i].second;
  return out.empty() ? "none" : out;
}

}  // namespace

std::vector<StepTerm> step_terms() {
  // A rate so high that the kernels take no time.
  constexpr double at_once = 1e6;
  return {{"host time of router, permutation and dispatch", {"router_launch", "fused_launch"}, 0},
          {"host time of each local expert", {"expert_launch"}, 0},
          {"host time of attention and dense halves of a layer", {"launch"}, 0},
          {"casts of operands of experts", {"expert_cast"}, 0},
          {"casts of other operands", {"cast"}, 0},
          {"lower rate of grouped GEMMs", {"grouped"}, 1},
          {"lower rate of GEMMs with a small K", {"gemm_depth"}, 1e-3},
          {"memory traffic of element-wise kernels and permutations", {"stream"}, at_once},
          {"dispatch and combine that overlap leaves exposed", {"expert_exposed"}, 0},
          {"tensor collectives that overlap leaves exposed", {"tensor_exposed"}, 0},
          {"slower computation during collectives", {"interference"}, 0},
          {"waiting for the slowest rank of a group", {"jitter"}, 0},
          {"gradients that GEMMs add to", {}, 0, &Stack::fused_accumulation},
          {"gradient accumulation", {"accumulation"}, 0},
          {"memory traffic of the optimizer", {"optimizer"}, 0},
          {"fixed time of a step", {"step_fixed"}, 0}};
}

std::vector<StepsWithout> steps_without_terms(const std::vector<StepCase>& steps, const Hardware& hardware,
                                              const std::function<void(double)>& progress) {
  const std::vector<StepTerm> terms = step_terms();
  // Entry 0 has all terms.
  std::vector<Hardware> each{hardware};
  std::vector<StepsWithout> all(1);
  for (const StepTerm& term : terms) {
    each.push_back(without(hardware, term));
    all.push_back({std::string(term.name), {}});
  }
  std::vector<const StepCase*> chosen;
  for (const StepCase& c : steps)
    if (!c.scenario.empty()) chosen.push_back(&c);
  for (StepsWithout& s : all) s.rows.resize(chosen.size());
  TaskProgress tasks(progress, chosen.size());
  in_parallel(chosen.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    // One runner for all terms: its collectives do not depend on them.
    StepRunner runner(*chosen[i]);
    for (std::size_t t = 0; t < all.size(); ++t) {
      StepRow& row = all[t].rows[i];
      row.id = chosen[i]->id;
      row.source = chosen[i]->source;
      row.measured = chosen[i]->measured;
      row.experts = runner.experts();
      row.forecast = runner.time(each[t]);
    }
    tasks.one_done();
  });
  return all;
}

std::string terms_markdown(const std::vector<StepsWithout>& all) {
  std::string out =
      "# Terms of the step model\n\n"
      "This page shows how much each term of the model of training steps contributes. Each term is removed in turn, "
      "while all\n"
      "other parameters keep their fitted values. The table shows the mean error of the fitted steps, each source "
      "counted once,\n"
      "and the sources whose error grows most, with their bias before and after. If the other parameters were fitted "
      "again,\n"
      "they would compensate for part of the difference.\n\n"
      "Written by `fabricast calibrate validate --steps --terms --markdown docs/validation-step-terms.md`.\n\n"
      "| without | dense % | MoE % | explains |\n|---|---:|---:|---|\n";
  for (const StepsWithout& s : all)
    out += fmt::format("| {} | {:.1f} | {:.1f} | {} |\n", s.term.empty() ? "nothing" : s.term,
                       100 * mean_over_sources(s.rows, false).mean, 100 * mean_over_sources(s.rows, true).mean,
                       s.term.empty() ? "" : explained(all.front(), s));
  return out;
}

}  // namespace fabricast
