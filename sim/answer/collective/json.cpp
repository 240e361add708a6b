// JSON and CSV of collectives. docs/formats.md documents the fields, which scripts of users rely on.
//
// Times are in us and rates in GB/s (10^9 B/s), as in nccl-tests, and keys carry their unit. Fields that do not apply
// to a row are left out rather than null. Numbers are rounded to ten digits, so that files of two machines can be
// compared.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "../../scenario/effective.hpp"
#include "../common/json_parts.hpp"
#include "fabricast/planner/regressions.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/versions.hpp"

namespace fabricast {

namespace {

std::string choice_text(const Choice& c) { return fmt::format("{}/{}", name_of(c.algorithm), name_of(c.protocol)); }

// One row of `rows`; `explain` adds its breakdown to the same object.
Json row_json(const Forecast& forecast, const ForecastRow& row) {
  Json j;
  j["bytes"] = row.bytes;
  j["time_us"] = digits(microseconds(row.time));
  j["algbw_gbps"] = digits(gigabytes_per_second(row.algorithm_bandwidth()));
  j["busbw_gbps"] = digits(gigabytes_per_second(forecast.bus_bandwidth(row)));
  j["algorithm"] = name_of(row.algorithm);
  j["protocol"] = name_of(row.protocol);
  j["channels"] = row.channels;
  if (!row.plan.kernels.empty()) j["kernel"] = name_of(row.plan.kernels.front().kernel);
  if (row.plan.chooser != Chooser::nccl) j["chosen_by"] = name_of(row.plan.chooser);
  j["bottleneck"] = row.result.bottleneck.name;
  j["time_us_p5"] = digits(microseconds(row.time_p5));
  j["time_us_p95"] = digits(microseconds(row.time_p95));
  j["time_us_worst"] = digits(microseconds(row.time_worst));
  j["samples"] = forecast.samples;
  // 1 means that no interval was computed (`--no-intervals`, or an engine other than flow).
  if (row.factor > 1)
    j["interval_90_us"] = {{"low", digits(row.time / row.factor * 1e6)}, {"high", digits(row.time * row.factor * 1e6)}};
  if (row.near)
    j["measured_here"] = {{"factor", digits(row.level)},
                          {"known", digits(row.residual->stated)},
                          {"nearest",
                           {{"collective", name_of(row.near->op)},
                            {"bytes", row.near->bytes},
                            {"nodes", row.near->nodes},
                            {"same_algorithm_and_protocol", row.near->same_plan}}}};
  if (row.nccl) {
    j["nccl_choice"] = choice_text(*row.nccl);
    if (row.nccl->time > Seconds{}) j["nccl_time_us"] = digits(microseconds(row.nccl->time));
  }
  if (!row.by_version.empty()) {
    j["time_us_low"] = digits(microseconds(fastest_version(row).time));
    j["time_us_high"] = digits(microseconds(slowest_version(row).time));
    Json versions = Json::array();
    for (const VersionTime& v : row.by_version)
      versions.push_back({{"nccl_from", to_text(v.from)},
                          {"time_us", digits(microseconds(v.time))},
                          {"algorithm", name_of(v.algorithm)},
                          {"protocol", name_of(v.protocol)},
                          {"channels", v.channels}});
    j["by_nccl_version"] = std::move(versions);
  }
  if (!row.result.affected_by.empty()) j["faults"] = row.result.affected_by;
  return j;
}

/// Each unstated input, with the ratios of the rows' times for its other values.
/// Ratios are to the time with the assumed value, in the order of `rows`. `weight` is the probability of the other
/// value, a guess except for versions (docs/models/intervals.md).
Json unstated_json(const Forecast& forecast) {
  Json inputs = Json::array();
  for (const UnstatedEffect& effect : forecast.unstated) {
    Json others = Json::array();
    for (std::size_t k = 0; k < effect.ratios.size(); ++k) {
      Json ratios = Json::array();
      for (const double ratio : effect.ratios[k]) ratios.push_back(digits(ratio));
      others.push_back({{"value", effect.input.others[k].value},
                        {"weight", digits(effect.input.others[k].weight)},
                        {"time_ratio", std::move(ratios)}});
    }
    inputs.push_back({{"key", effect.input.key},
                      {"assumed", effect.input.assumed},
                      {"others", std::move(others)},
                      {"how_to_tell", effect.input.how_to_tell}});
  }
  return inputs;
}

// The effective scenario has every default filled in, so it gives the same forecast by itself with this version.
Json head_json(const World& world, const Forecast& forecast) {
  Json j;
  j["fabricast"] = version_text();
  j["scenario"] = nullptr;  // its place; see dump_with_scenario
  j["fingerprint"] = fmt::format("{:016x}", forecast.fingerprint);
  if (!world.provider().variables.empty())
    j["set_by_provider"] = {{"from", world.provider().from}, {"variables", world.provider().variables}};
  return j;
}

}  // namespace

std::string forecast_json(const Forecast& forecast) {
  const World& world = forecast.world;
  Json j = head_json(world, forecast);
  j["ranks"] = forecast.ranks;
  if (!forecast.unstated.empty()) j["not_stated"] = unstated_json(forecast);
  Json rows = Json::array();
  for (const ForecastRow& row : forecast.rows) rows.push_back(row_json(forecast, row));
  j["rows"] = std::move(rows);
  return dump_with_scenario(j, world) + "\n";
}

namespace {

// `before` of a setting are the times with all settings taken before it, so its gain is on top of them.
Json advised_json(const Forecast& forecast, const Advised& a) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < a.before.size(); ++i)
    rows.push_back({{"bytes", forecast.rows[i].bytes}, {"gain", digits(1 - a.change.times[i] / a.before[i])}});
  return {{"what", a.change.what}, {"set", a.change.set}, {"gain", digits(a.change.gain)}, {"rows", std::move(rows)}};
}

Json advice_json(const Advice& advice) {
  Json j = {{"gain", digits(advice.gain)}, {"settings", Json::array()}, {"mixed", Json::array()}};
  for (const Advised& a : advice.taken) j["settings"].push_back(advised_json(advice.before, a));
  for (const Advised& a : advice.mixed) j["mixed"].push_back(advised_json(advice.before, a));
  return j;
}

Json choice_json(const Choice& c) {
  return {{"algorithm", name_of(c.algorithm)},
          {"protocol", name_of(c.protocol)},
          {"time_us", digits(microseconds(c.time))}};
}

}  // namespace

std::string explain_json(const Explanation& explanation) {
  const World& world = explanation.forecast.world;
  const auto& [forecast, weighed, what_ifs, advice] = explanation;
  const ForecastRow& row = forecast.rows.front();
  Json j = head_json(world, forecast);
  if (!forecast.unstated.empty()) j["not_stated"] = unstated_json(forecast);
  if (const auto known = regressions_of(world.planner(), row.plan); !known.empty())
    j["known_regressions"] = Json::parse(regressions_json(known));
  Json r = row_json(forecast, row);
  const CollectiveResult& result = row.result;
  r["breakdown_us"] = {{"launch", digits(microseconds(result.launch))},
                       {"latency", digits(microseconds(result.latency))},
                       {"fill", digits(microseconds(result.fill))},
                       {"transfer", digits(microseconds(result.transfer))}};
  Json sharers = Json::array();
  for (const Bottleneck::Sharer& s : result.bottleneck.sharers)
    sharers.push_back({{"channel", s.channel}, {"connections", digits(s.connections)}});
  // Replaces the name in row_json by an object. `alike` counts links with the same load, e.g. all uplinks of a
  // symmetric job, of which one is named.
  r["bottleneck"] = {{"name", result.bottleneck.name},
                     {"capacity_gbps", digits(gigabytes_per_second(result.bottleneck.capacity))},
                     {"payload_per_connection_gbps", digits(gigabytes_per_second(result.bottleneck.rate))},
                     {"alike", result.bottleneck.alike},
                     {"sharers", sharers}};
  Json candidates = Json::array();
  for (const Candidate& c : row.plan.candidates) {
    Json candidate = {{"algorithm", name_of(c.algorithm)},
                      {"protocol", name_of(c.protocol)},
                      {"nccl_estimate_us", digits(c.estimate_us)}};
    // A candidate without a schedule has NCCL's estimate only.
    if (const ForecastRow* own = weighed.find(c.algorithm, c.protocol))
      candidate["time_us"] = digits(microseconds(own->time));
    candidates.push_back(std::move(candidate));
  }
  r["candidates"] = std::move(candidates);
  if (!row.plan.kernels.empty()) {
    Json kernels = Json::array();
    for (const SymmetricRun& k : row.plan.kernels)
      kernels.push_back(
          {{"kernel", name_of(k.kernel)}, {"blocks", k.blocks}, {"nccl_estimate_us", digits(k.estimate_us)}});
    r["kernels"] = std::move(kernels);
  }
  if (const auto selected = compare_selections(row, weighed))
    r["selection"] = {{"nccl", choice_json(selected->nccl)},
                      {"best", choice_json(selected->best)},
                      {"cost_us", digits(microseconds(selected->cost()))},
                      {"cost_percent", digits(100 * selected->cost() / selected->best.time)}};
  Json helps = Json::array();
  for (const WhatIf& w : what_ifs)
    helps.push_back({{"what", w.what},
                     {"set", w.set},
                     {"time_us", digits(microseconds(w.times.front()))},
                     {"gain", digits(w.gain)}});
  r["what_would_help"] = std::move(helps);
  j["row"] = std::move(r);
  if (advice) j["advice"] = advice_json(*advice);
  return dump_with_scenario(j, world) + "\n";
}

std::string forecast_csv(const Forecast& forecast) {
  std::string out =
      "bytes,time_us,algbw_gbps,busbw_gbps,algorithm,protocol,channels,bottleneck,time_us_p5,time_us_p95,time_us_"
      "worst\n";
  for (const ForecastRow& row : forecast.rows)
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", row.bytes, digits(microseconds(row.time)),
                    digits(gigabytes_per_second(row.algorithm_bandwidth())),
                    digits(gigabytes_per_second(forecast.bus_bandwidth(row))), name_of(row.algorithm),
                    name_of(row.protocol), row.channels, row.result.bottleneck.name, digits(microseconds(row.time_p5)),
                    digits(microseconds(row.time_p95)), digits(microseconds(row.time_worst)));
  return out;
}

}  // namespace fabricast
