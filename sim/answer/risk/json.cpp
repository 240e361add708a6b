// JSON and CSV of a risk report. The formats are a contract: docs/formats.md, risk.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "../../scenario/effective.hpp"
#include "../common/json_parts.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/risk/risk.hpp"

namespace fabricast {

namespace {

/// A time that may be infinite, which means never and becomes null.
Json or_null(Seconds t) { return std::isfinite(t.value) ? Json(digits(t)) : Json(nullptr); }

// Every class appears, also idle ones and those without a rate: a reader may have rates of their own.
Json class_json(const RiskClass& c) {
  return {{"component", name_of(c.component)},
          {"event", name_of(c.mishap)},
          {"role", name_of(c.role)},
          {"left", digits(c.left)},
          {"count", c.count},
          {"stops", c.stops},
          {"slowdown", digits(c.slowdown)},
          {"slowdown_worst", digits(c.worst)},
          {"example", c.example},
          {"simulated", c.simulated},
          {"carries", digits(c.carries)},
          {"per_month", digits(c.per_month)},
          {"lasts_s", digits(c.lasts)},
          {"hours_per_month", digits(c.hours)}};
}

Json lost_json(const std::vector<LostTime>& list, const char* name) {
  Json all = Json::array();
  for (const LostTime& l : list) all.push_back({{name, l.cause}, {"hours", digits(l.hours)}});
  return all;
}

Json month_json(const MonthForecast& m) {
  return {{"goodput", digits(m.goodput)},
          {"goodput_p5", digits(m.goodput_p5)},
          {"goodput_p95", digits(m.goodput_p95)},
          {"goodput_standard_error", digits(m.error)},
          {"stops", digits(m.stops)},
          {"seconds", digits(m.time)},
          {"seconds_p5", digits(m.time_p5)},
          {"seconds_p95", digits(m.time_p95)},
          {"seconds_worst", digits(m.time_worst)},
          {"lost", lost_json(m.lost, "cause")},
          {"lost_by_kind", lost_json(m.lost_by_kind, "kind")}};
}

Json checkpoint_json(const CheckpointPlan& c) {
  return {{"bytes", c.bytes.value},
          {"every_s", or_null(c.every)},
          {"best_s", or_null(c.best)},
          {"pause_s", digits(c.pause)},
          {"durable_s", digits(c.durable)},
          {"load_s", digits(c.load)},
          {"between_stops_s", or_null(c.between_stops)}};
}

}  // namespace

std::string risk_json(const Risk& risk) {
  const World& world = risk.world;
  Json classes = Json::array(), helps = Json::array();
  for (const RiskClass& c : risk.classes) classes.push_back(class_json(c));
  for (const RiskWhatIf& w : risk.helps)
    helps.push_back({{"what", w.what}, {"set", w.set}, {"goodput", digits(w.goodput)}});
  Json worst = nullptr;
  if (const RiskClass* c = risk.worst_survived()) worst = class_json(*c);
  const Json all = {{"fabricast", version_text()},
                    {"scenario", effective_json(world.scenario())},
                    {"of", risk.of},
                    {"network_samples", risk.network_samples},
                    {"healthy_s", digits(risk.time)},
                    {"healthy_s_p5", digits(risk.time_p5)},
                    {"healthy_s_p95", digits(risk.time_p95)},
                    {"healthy_s_worst", digits(risk.time_worst)},
                    {"samples", risk.samples},
                    {"seed", risk.seed},
                    {"transport_window_s", digits(risk.window)},
                    {"spares", risk.spares},
                    {"month", month_json(risk.month)},
                    {"checkpoint", checkpoint_json(risk.checkpoint)},
                    {"worst_survived", std::move(worst)},
                    {"classes", std::move(classes)},
                    {"what_would_help", std::move(helps)}};
  return all.dump(2) + "\n";
}

std::string risk_csv(const Risk& risk) {
  std::string out =
      "component,event,role,left,count,stops,slowdown,slowdown_worst,example,simulated,carries,per_month,lasts_s,hours_"
      "per_month\n";
  for (const RiskClass& c : risk.classes)
    out += fmt::format("{},{},{},{:.10g},{},{},{:.10g},{:.10g},{},{},{:.10g},{:.10g},{:.10g},{:.10g}\n",
                       name_of(c.component), name_of(c.mishap), name_of(c.role), c.left, c.count, c.stops, c.slowdown,
                       c.worst, c.example, c.simulated, c.carries, c.per_month, c.lasts.value, c.hours);
  return out;
}

}  // namespace fabricast
