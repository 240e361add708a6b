// JSON and CSV of inference. docs/formats.md documents the fields, which scripts of users rely on.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "../../scenario/effective.hpp"
#include "../common/json_parts.hpp"
#include "../step/parts.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/validated.hpp"
#include "parts.hpp"

namespace fabricast {

namespace {

/// Grouped as in inference_lines: communication is exposed, and includes the fixed cost of its calls.
Json inference_breakdown_json(const ActorTimes& times) {
  Json j = Json::object(), exposed = Json::object();
  for (const InferenceLine& line : inference_lines(times))
    (line.exposed ? exposed : j)[std::string(line.what)] = digits(line.time);
  j["exposed"] = std::move(exposed);
  return j;
}

void add_waits(Json& j, const std::string& what, const WaitTimes& w) {
  j[what] = digits(w.mean);
  j[what + "_p50"] = digits(w.p50);
  j[what + "_p90"] = digits(w.p90);
  j[what + "_p99"] = digits(w.p99);
}

// The interval is symmetric in the logarithm, so the bounds are a quotient and a product, not a sum.
template <typename Value>
Json interval_json(Value value, double factor) {
  return {digits(value / factor), digits(value * factor)};
}

// Rates, times between tokens and times of requests follow the pace of steps and have its factor. TTFT depends on the
// queue as well and has a wider one (report/serving_interval.hpp).
Json serving_json(const Serving& s, const ServingFactors& factors) {
  Json j = {{"tokens_per_s", digits(s.tokens_per_second)}, {"requests_per_s", digits(s.requests_per_second)}};
  j["interval_90_tokens_per_s"] = interval_json(s.tokens_per_second, factors.step);
  j["interval_90_ttft_s"] = interval_json(s.first_token.mean, factors.wait);
  j["interval_90_itl_s"] = interval_json(s.inter_token.mean, factors.step);
  j["interval_90_request_s"] = interval_json(s.request.mean, factors.step);
  add_waits(j, "ttft_s", s.first_token);
  add_waits(j, "itl_s", s.inter_token);
  j["itl_s_median_token"] = digits(s.inter_token_median);
  j["itl_s_worst"] = digits(s.inter_token_worst);
  add_waits(j, "request_s", s.request);
  j["requests"] = s.requests;
  j["sequences"] = digits(s.sequences);
  if (s.queue_grows) j["queue_grows"] = true;
  return j;
}

// Grouped into what users can change: weights by precision and degrees, cache by batch and lengths. The rest is the
// software's.
Json memory_json(const InferenceForecast& f) {
  return {{"bytes", digits(f.memory.total())},
          {"capacity", f.capacity.value},
          {"verdict", name_of(f.near_the_limit ? MemoryFit::near_the_limit : MemoryFit::fits)},
          {"parameters", digits(f.memory.parameters)},
          {"cache", digits(f.memory.cache)},
          {"workspace", digits(f.memory.workspace + f.memory.logits + f.memory.fragmentation)},
          {"other", digits(f.memory.communicators + f.memory.framework)}};
}

Json disaggregated_json(const InferenceSpec& spec, const DisaggregatedForecast& d, const ServingFactors& factors) {
  Json j = serving_json(d.serving, factors);
  j["prefill_s"] = digits(d.prompt.time);
  j["decode_step_s"] = digits(d.decode);
  j["decode_step_alone_s"] = digits(d.decode_alone);
  j["prefill_requests_per_s"] = digits(d.prefill_rate);
  j["decode_requests_per_s"] = digits(d.decode_rate);
  j["balanced_prefill_gpus"] = digits(d.balanced_gpus);
  j["balanced_tokens_per_s"] = digits(d.balanced_tokens);
  j["transfer"] = {{"path", name_of(spec.disaggregated.transfer)},
                   {"library", name_of(spec.kv_cache.library)},
                   {"stream", name_of(spec.disaggregated.stream)},
                   {"bytes", d.bytes.value},
                   {"time_s", digits(d.transfer)},
                   {"exposed_s", digits(d.exposed)},
                   {"bottleneck", d.collective.alone.bottleneck}};
  if (d.sent.direct)
    j["transfer"].update({{"rails", d.sent.rails},
                          {"descriptors", d.sent.descriptors.count},
                          {"descriptor_bytes", d.sent.descriptors.bytes.value},
                          {"posting_s", digits(d.sent.posting)}});
  return j;
}

Json prefix_json(const InferenceSpec& spec, const PrefixForecast& p) {
  return {{"tier", name_of(spec.kv_cache.tier)},
          {"tokens", p.tokens},
          {"bytes", p.bytes.value},
          {"load_s", digits(p.load)},
          {"rest_s", digits(p.rest)},
          {"first_token_s", digits(p.first_token())},
          {"computed_s", digits(p.computed)},
          {"bottleneck", p.bottleneck}};
}

}  // namespace

std::string inference_json(const InferenceForecast& f) {
  const World& world = f.world;
  const InferenceSpec& spec = world.scenario().workload.inference;
  Json j;
  j["fabricast"] = version_text();
  j["scenario"] = effective_json(world.scenario());
  j["fingerprint"] = fmt::format("{:016x}", f.fingerprint);
  j["not_validated"] = not_validated(world.scenario());
  j["phase"] = name_of(spec.phase);
  j["gpus"] = f.gpus;
  j["step_s"] = digits(f.step.time);
  j["step_s_p5"] = digits(f.step_p5);
  j["step_s_p95"] = digits(f.step_p95);
  j["step_s_worst"] = digits(f.step_worst);
  j["interval_90_s"] = interval_json(f.step.time, f.factors.step);
  j["samples"] = f.samples;
  if (f.message.value > 0) j["bytes"] = f.message.value;
  j["tokens_per_s"] = digits(f.tokens_per_second);
  j["interval_90_tokens_per_s"] = interval_json(f.tokens_per_second, f.factors.step);
  j["tokens_per_s_per_gpu"] = digits(f.tokens_per_second / static_cast<double>(f.gpus));
  if (f.prefill > Seconds{}) j["prefill_s"] = digits(f.prefill);
  j["mfu"] = digits(f.mfu);
  j["breakdown"] = inference_breakdown_json(f.step.mean);
  Json stages = Json::array();
  for (std::size_t s = 0; s < f.step.stages.size(); ++s) {
    Json stage = inference_breakdown_json(f.step.stages[s]);
    stage["stage"] = f.step.program.actors[s].name;
    stages.push_back(std::move(stage));
  }
  j["timeline"] = {{"activities", f.step.program.activities.size()}, {"stages", std::move(stages)}};
  j["memory"] = memory_json(f);
  Json batches = Json::array();
  for (const BatchRow& row : f.batches)
    batches.push_back({{"batch", row.batch},
                       {"step_s", digits(row.step)},
                       {"tokens_per_s", digits(row.tokens_per_second)},
                       {"memory", row.memory.value}});
  if (!batches.empty()) j["batches"] = std::move(batches);
  if (f.prefix) j["prefix"] = prefix_json(spec, *f.prefix);
  if (f.shared) j["shared"] = serving_json(*f.shared, f.factors);
  if (f.disaggregated) j["disaggregated"] = disaggregated_json(spec, *f.disaggregated, f.factors);
  j["collectives"] = collectives_json(f.step.program, f.step.collectives);
  if (f.step.own.calls > 0)
    j["own_all_reduces"] = {{"calls", digits(f.step.own.calls)}, {"seconds", digits(f.step.own.time)}};
  return j.dump(1) + "\n";
}

// CSV holds one table. The batches are the table that people plot; phases without batches have the breakdown instead.
std::string inference_csv(const InferenceForecast& f) {
  if (f.batches.empty()) {
    std::string out = "quantity,seconds,share\n";
    out += fmt::format("step,{:.10g},1\n", f.step.time.value);
    for (const InferenceLine& line : inference_lines(f.step.mean))
      out += fmt::format("{}{},{:.10g},{:.10g}\n", line.exposed ? "exposed " : "", line.what, line.time.value,
                         line.time / f.step.time);
    return out;
  }
  std::string out = "batch,step_s,tokens_per_s,memory\n";
  for (const BatchRow& row : f.batches)
    out += fmt::format("{},{:.10g},{:.10g},{}\n", row.batch, row.step.value, row.tokens_per_second, row.memory.value);
  return out;
}

}  // namespace fabricast
