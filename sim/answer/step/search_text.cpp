// The result of a search for splits as text, JSON and CSV.
//
// The counts of the header account for every split that was considered, so that a user sees whether a missing one did
// not divide, did not fit, or was not promising.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../common/json_parts.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/plan.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

std::size_t shown(const PlanResult& result, std::size_t top) {
  return top == 0 ? result.rows.size() : std::min(top, result.rows.size());
}

std::string row_text(const PlanRow& row) {
  const Split& s = row.candidate.split;
  return fmt::format(
      "{} {:>6} {:>7} {:>8} {:>6} {:>5} {:>6} {:>4} {:>5}  {:<9} {:>6.1f} {:>9.4g} {:>10.4g} {:>5.1f} "
      "{:>6.1f} {:>7.1f}\n",
      row.given ? '*' : ' ', s.tensor, s.context, s.pipeline, s.interleave, s.data, s.expert, s.zero, s.micro_batch,
      name_of(s.recompute), gibibytes(row.candidate.memory), row.time.value, row.tokens_per_second, 100 * row.mfu,
      100 * row.bubble, 100 * row.exposed);
}

}  // namespace

// The scenario's own split is shown even if it is not among the first `top`, for comparison.
std::string plan_text(const PlanResult& result, std::size_t top) {
  const World& world = result.world;
  const TrainingStep base = step_of(world);
  std::string out = heading_line(world.scenario().name);
  out += fmt::format("# splits of {} over {} GPUs, {} sequences per step; `*` marks the scenario's own\n",
                     base.model.name, result.gpus, base.global_batch);
  out += fmt::format(
      "# {} considered: {} do not divide evenly, {} do not fit in {:.1f} GiB, {} left out by a quick estimate",
      result.considered, result.not_divided, result.not_fitting, static_cast<double>(base.kernels.memory.value) / gib,
      result.left_out);
  if (result.refused > 0) out += fmt::format(", {} with groups distributed unevenly over nodes", result.refused);
  out += fmt::format("; {} forecast\n#\n", result.rows.size());
  out +=
      "# tensor context pipeline chunks  data expert zero micro  recompute    GiB  step (s)   tokens/s MFU % "
      "bubble% exposed%\n";
  const std::size_t count = shown(result, top);
  for (std::size_t i = 0; i < count; ++i) out += row_text(result.rows[i]);
  for (std::size_t i = count; i < result.rows.size(); ++i)
    if (result.rows[i].given) out += fmt::format("# place {}:\n", i + 1) + row_text(result.rows[i]);
  if (result.rows.empty()) return out;
  const PlanRow& best = result.rows.front();
  if (best.given) return out + "\nthe scenario's own split is the fastest of these\n";
  const auto own = std::find_if(result.rows.begin(), result.rows.end(), [](const PlanRow& row) { return row.given; });
  out += "\nthe fastest one";
  if (own != result.rows.end())
    out += fmt::format(" takes {:.1f} % less time than the scenario's own", 100 * (1 - best.time / own->time));
  out += ":";
  for (const std::string& word : best.set) out += fmt::format(" --set '{}'", word);
  return out + "\n";
}

std::string plan_json(const PlanResult& result, std::size_t top) {
  Json j;
  j["fabricast"] = version_text();
  j["gpus"] = result.gpus;
  j["considered"] = result.considered;
  j["do_not_divide"] = result.not_divided;
  j["do_not_fit"] = result.not_fitting;
  j["left_out"] = result.left_out;
  j["refused"] = result.refused;
  Json splits = Json::array();
  for (std::size_t i = 0; i < shown(result, top); ++i) {
    const PlanRow& row = result.rows[i];
    const Split& s = row.candidate.split;
    splits.push_back({{"tensor", s.tensor},
                      {"context", s.context},
                      {"pipeline", s.pipeline},
                      {"interleave", s.interleave},
                      {"data", s.data},
                      {"expert", s.expert},
                      {"zero", s.zero},
                      {"micro", s.micro_batch},
                      {"recompute", name_of(s.recompute)},
                      {"given", row.given},
                      {"set", row.set},
                      {"memory_gib", digits(gibibytes(row.candidate.memory))},
                      {"estimate_s", digits(row.candidate.estimate)},
                      {"step_s", digits(row.time)},
                      {"tokens_per_s", digits(row.tokens_per_second)},
                      {"mfu", digits(row.mfu)},
                      {"bubble", digits(row.bubble)},
                      {"exposed", digits(row.exposed)}});
  }
  j["splits"] = std::move(splits);
  return j.dump(1) + "\n";
}

std::string plan_csv(const PlanResult& result, std::size_t top) {
  std::string out =
      "tensor,context,pipeline,interleave,data,expert,zero,micro,recompute,given,memory_gib,step_s,tokens_per_s,mfu,"
      "bubble,exposed\n";
  for (std::size_t i = 0; i < shown(result, top); ++i) {
    const PlanRow& row = result.rows[i];
    const Split& s = row.candidate.split;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{:.10g},{:.10g},{:.10g},{:.10g},{:.10g},{:.10g}\n", s.tensor,
                       s.context, s.pipeline, s.interleave, s.data, s.expert, s.zero, s.micro_batch,
                       name_of(s.recompute), row.given, gibibytes(row.candidate.memory), row.time.value,
                       row.tokens_per_second, row.mfu, row.bubble, row.exposed);
  }
  return out;
}

}  // namespace fabricast
