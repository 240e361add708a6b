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
  for (const auto& [path, ref] : hardware.all_parameters()) {
    if (!path.starts_with("compute.") && !path.starts_with("stacks.")) continue;
    const std::string_view word = std::string_view(path).substr(path.rfind('.') + 1);
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

/// The sources whose mean error grows most, with their bias before and after.
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
  std::sort(worse.begin(), worse.end());
  std::string out;
  for (std::size_t i = 0; i < std::min(shown, worse.size()); ++i) out += (i > 0 ? "; " : "") + worse[i].second;
  return out.empty() ? "none" : out;
}

}  // namespace

std::vector<StepTerm> step_terms() {
  // A rate so high that what goes by it takes no time.
  constexpr double at_once = 1e6;
  return {{"router, permutation and dispatch take the host", {"router_launch", "fused_launch"}, 0},
          {"each local expert takes the host", {"expert_launch"}, 0},
          {"attention and dense halves take the host", {"launch"}, 0},
          {"experts' operands are cast", {"expert_cast"}, 0},
          {"other operands are cast", {"cast"}, 0},
          {"GEMMs of experts side by side are slower", {"grouped"}, 1},
          {"short GEMMs are slower", {"gemm_depth"}, 1e-3},
          {"kernels pass over memory, permutations too", {"stream"}, at_once},
          {"tokens stay exposed though overlapped", {"expert_exposed"}, 0},
          {"tensor collectives stay exposed though overlapped", {"tensor_exposed"}, 0},
          {"computation is slower beside collectives", {"interference"}, 0},
          {"groups wait for their slowest rank", {"jitter"}, 0},
          {"gradients are added up", {"accumulation"}, 0},
          {"the optimizer passes over memory", {"optimizer"}, 0},
          {"a step has a fixed part", {"step_fixed"}, 0}};
}

std::vector<StepsWithout> steps_without_terms(const std::vector<StepCase>& steps, const Hardware& hardware,
                                              const std::function<void(double)>& progress) {
  const std::vector<StepTerm> terms = step_terms();
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
  TaskProgress stated(progress, chosen.size());
  in_parallel(chosen.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    StepRunner runner(*chosen[i]);
    for (std::size_t t = 0; t < all.size(); ++t) {
      StepRow& row = all[t].rows[i];
      row.id = chosen[i]->id, row.source = chosen[i]->source, row.measured = chosen[i]->seconds;
      row.experts = runner.experts();
      row.forecast = runner.seconds(each[t]);
    }
    stated.one_done();
  });
  return all;
}

std::string terms_markdown(const std::vector<StepsWithout>& all) {
  std::string out =
      "# Terms of steps\n\n"
      "Written by `fabricast calibrate validate --steps --terms --markdown docs/validation-step-terms.md`.\n"
      "Each term is taken away, all else stays as it is fitted. Of the steps that are fitted, mean error with each "
      "source counting once; behind, the sources\nwhose error grows most, with their bias before and after. Others "
      "would "
      "make up for a part if they were fitted anew.\n\n"
      "| without | dense % | MoE % | explains |\n|---|---:|---:|---|\n";
  for (const StepsWithout& s : all)
    out += fmt::format("| {} | {:.1f} | {:.1f} | {} |\n", s.term.empty() ? "nothing" : s.term,
                       100 * mean_over_sources(s.rows, false).mean, 100 * mean_over_sources(s.rows, true).mean,
                       s.term.empty() ? "" : explained(all.front(), s));
  return out;
}

}  // namespace fabricast
