// JSON and CSV of a step. docs/formats.md documents the fields, which scripts of users rely on.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "../../scenario/effective.hpp"
#include "../common/json_parts.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/report/validated.hpp"
#include "parts.hpp"

namespace fabricast {

namespace {

// Components that are 0 are left out, except interference and bubble. `exposed` is the time in which computation waits
// for a kind of parallelism; it adds to the busy times, interference and bubble to give the step.
Json breakdown_json(const ActorTimes& times) {
  Json j = Json::object();
  for (std::size_t p = 0; p < part_count; ++p)
    if (times.busy[p] > Seconds{}) j[std::string(EnumNames<Part>::names[p])] = digits(times.busy[p]);
  Json exposed = Json::object();
  for (std::size_t p = 0; p < part_count; ++p)
    if (times.exposed[p] > Seconds{}) exposed[std::string(EnumNames<Part>::names[p])] = digits(times.exposed[p]);
  j["exposed"] = std::move(exposed);
  j["interference"] = digits(times.interference);
  j["bubble"] = digits(times.bubble);
  return j;
}

// The verdict takes the uncertainty of the estimate into account, so both are given.
Json memory_json(const StepMemory& memory) {
  Json stages = Json::array();
  for (const MemoryUse& use : memory.stages) {
    Json stage = {{"stage", use.stage}, {"total_gib", digits(use.total() / gib)}};
    Json parts_gib = Json::object();
    for (const auto& [name, bytes] : use.by_part())
      if (bytes > 0) parts_gib[std::string(name)] = digits(bytes / gib);
    stage["parts_gib"] = std::move(parts_gib);
    stages.push_back(std::move(stage));
  }
  return {{"capacity_gib", digits(gibibytes(memory.capacity))},
          {"peak_gib", digits(memory.peak().total() / gib)},
          {"share", digits(memory.share())},
          {"verdict", name_of(memory.fit())},
          {"uncertainty", memory_uncertainty},
          {"stages", std::move(stages)}};
}

}  // namespace

// Shared with inference. `time_us` is one call alone; `slowdown` is what its calls take in the step relative to that.
nlohmann::ordered_json collectives_json(const Program& program, const std::vector<CollectiveUse>& collectives) {
  Json all = Json::array();
  for (const CollectiveUse& use : collectives)
    all.push_back({{"name", use.kind.name},
                   {"part", name_of(use.kind.part)},
                   {"collective", name_of(use.kind.op)},
                   {"bytes", use.kind.bytes},
                   {"ranks", program.groups[use.kind.groups].front().size()},
                   {"groups", program.groups[use.kind.groups].size()},
                   {"calls", digits(use.calls)},
                   {"time_us", digits(use.alone.makespan.value * 1e6)},
                   {"slowdown", digits(use.slowdown)},
                   {"algorithm", use.alone.algorithm},
                   {"protocol", use.alone.protocol},
                   {"channels", use.alone.channels},
                   {"bottleneck", use.alone.bottleneck}});
  return all;
}

std::string step_json(const StepForecast& f) {
  const World& world = f.world;
  Json j;
  j["fabricast"] = version_text();
  j["scenario"] = effective_json(world.scenario());
  j["fingerprint"] = fmt::format("{:016x}", f.fingerprint);
  j["not_validated"] = not_validated(world.scenario());
  j["gpus"] = f.gpus;
  j["step_s"] = digits(f.time);
  j["step_s_p5"] = digits(f.time_p5);
  j["step_s_p95"] = digits(f.time_p95);
  j["step_s_worst"] = digits(f.time_worst);
  if (f.factor > 0) j["interval_90_s"] = {digits(f.time / f.factor), digits(f.time * f.factor)};
  j["samples"] = f.samples;
  // A trace has no model, so no tokens and FLOPs.
  if (f.tokens > 0) {
    j["tokens_per_s"] = digits(f.tokens_per_second());
    j["tokens_per_s_per_gpu"] = digits(f.tokens_per_second() / static_cast<double>(f.gpus));
    j["tflops_per_gpu"] = digits(f.flops / f.time.value * 1e-12);
    j["mfu"] = digits(f.mfu());
    j["mfu_causal"] = digits(f.mfu_causal());
  }
  j["breakdown"] = breakdown_json(f.mean);
  j["schedule_bubble_s"] = digits(schedule_bubble(f));
  Json stages = Json::array();
  for (std::size_t s = 0; s < f.stages.size(); ++s) {
    Json stage = breakdown_json(f.stages[s]);
    stage["stage"] = f.program.actors[s].name;
    stages.push_back(std::move(stage));
  }
  j["timeline"] = {{"activities", f.program.activities.size()}, {"stages", std::move(stages)}};
  if (!f.memory.stages.empty()) j["memory"] = memory_json(f.memory);
  j["collectives"] = collectives_json(f.program, f.collectives);
  return j.dump(1) + "\n";
}

// One quantity per line, because its components differ from step to step; a table of columns would differ in its
// header.
std::string step_csv(const StepForecast& f) {
  std::string out = "quantity,seconds,share\n";
  const auto add = [&](std::string_view what, Seconds time) {
    out += fmt::format("{},{:.10g},{:.10g}\n", what, time.value, time / f.time);
  };
  add("step", f.time);
  if (f.factor > 0) {
    add("step low", f.time / f.factor);
    add("step high", f.time * f.factor);
  }
  for (std::size_t p = 0; p < part_count; ++p)
    if (f.mean.busy[p] > Seconds{}) add(EnumNames<Part>::names[p], f.mean.busy[p]);
  for (std::size_t p = 0; p < part_count; ++p)
    if (f.mean.exposed[p] > Seconds{}) add(fmt::format("exposed {}", EnumNames<Part>::names[p]), f.mean.exposed[p]);
  add("interference", f.mean.interference);
  add("bubble", f.mean.bubble);
  return out;
}

}  // namespace fabricast
