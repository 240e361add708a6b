// The metrics of a configuration, a line for each.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/plan/metric.hpp"

namespace fabricast {

namespace {

using Value = std::optional<double>;

template <class F>
Value of_collective(const Measured& m, F f) {
  return m.collective ? Value(f(largest(*m.collective))) : std::nullopt;
}
template <class F>
Value of_step(const Measured& m, F f) {
  return m.step ? Value(f(*m.step)) : std::nullopt;
}
template <class F>
Value of_inference(const Measured& m, F f) {
  return m.inference ? Value(f(*m.inference)) : std::nullopt;
}

double gpus(const Measured& m) {
  return static_cast<double>(m.world.scenario.cluster.nodes) * m.world.scenario.node.spec.gpus;
}

Value seconds(const Measured& m) {
  if (m.collective) return largest(*m.collective).time;
  return m.step ? m.step->seconds : m.inference->step.seconds;
}
Value seconds_p95(const Measured& m) {
  if (m.collective) return largest(*m.collective).time_p95;
  return m.step ? m.step->seconds_p95 : m.inference->step_p95;
}
Value seconds_worst(const Measured& m) {
  if (m.collective) return largest(*m.collective).time_worst;
  return m.step ? m.step->seconds_worst : m.inference->step_worst;
}
Value steps_only(const Measured& m, Value (*f)(const Measured&)) { return m.collective ? std::nullopt : f(m); }

Value interval(const Measured& m) {
  const double factor = m.collective ? largest(*m.collective).factor : m.step ? m.step->factor : 0;
  return factor > 1 ? Value(factor) : std::nullopt;
}

Value tokens_per_second(const Measured& m) {
  if (m.inference) return m.inference->tokens_per_second;
  return m.step && m.step->tokens > 0 ? Value(m.step->tokens_per_second()) : std::nullopt;
}

template <class F>
Value of_bill(const Measured& m, F f) {
  return m.bill ? Value(static_cast<double>(f(*m.bill))) : std::nullopt;
}
/// A sum that lacks some of its lines is none.
template <class F>
Value of_cost(const Measured& m, F f) {
  return m.cost && m.cost->not_priced == 0 ? Value(f(*m.cost)) : std::nullopt;
}

template <class F>
Value of_risk(const Measured& m, F f) {
  return m.risk ? Value(f(*m.risk)) : std::nullopt;
}

double exposed(const ActorTimes& times) { return std::accumulate(times.exposed.begin(), times.exposed.end(), 0.0); }

constexpr std::array table = {
    Metric{"gpus", "GPUs of the job", Better::neither, [](const Measured& m) { return Value(gpus(m)); }},
    Metric{"time_s", "s of the largest size, or of the step: median over draws", Better::lower, seconds},
    Metric{"time_s_p95", "s, of the draw that 5 % of draws exceed", Better::lower, seconds_p95},
    Metric{"time_s_worst", "s, of the worst draw", Better::lower, seconds_worst},
    Metric{"interval", "with 90 % the measured time is within this factor of time_s", Better::neither, interval},
    Metric{"time_us", "us of the largest size of a collective", Better::lower,
           [](const Measured& m) { return of_collective(m, [](const auto& row) { return row.time * 1e6; }); }},
    Metric{"busbw_gbps", "GB/s, bus bandwidth of the largest size", Better::higher,
           [](const Measured& m) {
             return of_collective(m, [&](const auto& row) { return m.collective->bus_bandwidth(row) * 1e-9; });
           }},
    Metric{"algbw_gbps", "GB/s, bytes over time of the largest size", Better::higher,
           [](const Measured& m) {
             return of_collective(m, [](const auto& row) { return row.algorithm_bandwidth() * 1e-9; });
           }},
    Metric{"step_s", "s of a step of training or inference", Better::lower,
           [](const Measured& m) { return steps_only(m, seconds); }},
    Metric{"step_s_p95", "s, of the draw that 5 % of draws exceed", Better::lower,
           [](const Measured& m) { return steps_only(m, seconds_p95); }},
    Metric{"step_s_worst", "s, of the worst draw", Better::lower,
           [](const Measured& m) { return steps_only(m, seconds_worst); }},
    Metric{"tokens_per_s", "tokens per second of all GPUs", Better::higher, tokens_per_second},
    Metric{"tokens_per_s_per_gpu", "the same of a GPU", Better::higher,
           [](const Measured& m) {
             const Value all = tokens_per_second(m);
             return all ? Value(*all / gpus(m)) : all;
           }},
    Metric{"mfu", "model FLOP/s over the GPUs' peak", Better::higher,
           [](const Measured& m) {
             if (m.step && m.step->tokens == 0) return Value();
             return m.step ? Value(m.step->mfu()) : of_inference(m, [](const auto& f) { return f.mfu; });
           }},
    Metric{"exposed", "part of the step that waits for collectives", Better::lower,
           [](const Measured& m) {
             return m.step ? of_step(m, [](const auto& f) { return exposed(f.mean) / f.seconds; })
                           : of_inference(m, [](const auto& f) { return exposed(f.step.mean) / f.step.seconds; });
           }},
    Metric{"bubble", "part of the step that waits for other stages", Better::lower,
           [](const Measured& m) { return of_step(m, [](const auto& f) { return f.mean.bubble / f.seconds; }); }},
    Metric{"memory", "part of a GPU's memory that is used, of the fullest stage", Better::lower,
           [](const Measured& m) {
             if (m.step && m.step->memory.stages.empty()) return Value();
             return m.step ? Value(m.step->memory.share())
                           : of_inference(m, [](const auto& f) { return f.memory.total() / f.capacity; });
           }},
    Metric{"first_token_s", "s from a prompt to its first token", Better::lower,
           [](const Measured& m) {
             return m.inference && m.inference->shared ? Value(m.inference->shared->first_token.mean) : std::nullopt;
           }},
    Metric{"inter_token_s", "s from a token to the next, mean", Better::lower,
           [](const Measured& m) {
             return m.inference && m.inference->shared ? Value(m.inference->shared->inter_token.mean) : std::nullopt;
           }},
    Metric{"switches", "switches of all tiers", Better::lower,
           [](const Measured& m) { return of_bill(m, [](const Bill& b) { return b.switches(); }); }},
    Metric{"cables", "cables of all tiers", Better::lower,
           [](const Measured& m) { return of_bill(m, [](const Bill& b) { return b.cables(); }); }},
    Metric{"transceivers", "transceivers of all cables", Better::lower,
           [](const Measured& m) { return of_bill(m, [](const Bill& b) { return b.count(Item::transceiver); }); }},
    Metric{"racks", "racks", Better::lower,
           [](const Measured& m) { return of_bill(m, [](const Bill& b) { return b.count(Item::rack); }); }},
    Metric{"power_w", "W of all equipment at full load", Better::lower,
           [](const Measured& m) { return of_bill(m, [](const Bill& b) { return b.equipment_watts(); }); }},
    Metric{"network_power_w", "W of switches, cables, transceivers and NICs", Better::lower,
           [](const Measured& m) { return of_bill(m, [](const Bill& b) { return b.network_watts(); }); }},
    Metric{"network_power_per_gpu_w", "W of these, per GPU", Better::lower,
           [](const Measured& m) {
             return of_bill(m, [](const Bill& b) { return b.network_watts() / static_cast<double>(b.gpus); });
           }},
    Metric{"cost", "to buy, in the currency of the prices", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.bought; }); }},
    Metric{"network_cost", "the network's part of it", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.network; }); }},
    Metric{"cost_per_gpu", "to buy, per GPU", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.per_gpu(); }); }},
    Metric{"network_cost_per_gpu", "the network's part, per GPU", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.network_per_gpu(); }); }},
    Metric{"cost_per_hour", "of an hour: bought over the years, upkeep, energy", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.per_hour; }); }},
    Metric{"cost_per_step", "of a step, or a call of the largest size, of the job's hosts", Better::lower,
           [](const Measured& m) { return of_cost(m, [&](const Cost& c) { return c.of_time(*seconds(m)); }); }},
    Metric{"cost_per_mtokens", "of a million tokens", Better::lower,
           [](const Measured& m) {
             const Value tokens = tokens_per_second(m);
             return tokens ? of_cost(m, [&](const Cost& c) { return c.of_time(1e6 / *tokens); }) : std::nullopt;
           }},
    Metric{"goodput", "useful part of a month with failures", Better::higher,
           [](const Measured& m) { return of_risk(m, [](const Risk& r) { return r.month.goodput; }); }},
    Metric{"stops", "failures in a month that stop the job", Better::lower,
           [](const Measured& m) { return of_risk(m, [](const Risk& r) { return r.month.stops; }); }},
    Metric{"month_s_p95", "s of a step or call that 5 % of a month's exceed", Better::lower,
           [](const Measured& m) { return of_risk(m, [](const Risk& r) { return r.month.seconds_p95; }); }},
    Metric{"worst_failure", "times as long with the worst single failure that does not stop the job", Better::lower,
           [](const Measured& m) {
             return of_risk(m, [](const Risk& r) { return r.worst_survived() ? r.worst_survived()->worst : 1.0; });
           }},
};

}  // namespace

std::span<const Metric> metrics() { return table; }

bool is_of_risk(std::size_t metric) {
  constexpr std::array names = {"goodput", "stops", "month_s_p95", "worst_failure"};
  return std::find(names.begin(), names.end(), table[metric].name) != names.end();
}

std::optional<std::size_t> find_metric(std::string_view name) {
  const Metric* metric = find_by_name(table, name);
  return metric ? std::optional(static_cast<std::size_t>(metric - table.data())) : std::nullopt;
}

std::size_t metric_named(std::string_view name, const std::string& path) {
  if (const auto found = find_metric(name)) return *found;
  throw UserError::at(path, fmt::format("there is no metric '{}'", name), suggestion(name, names_of(table)));
}

std::vector<std::optional<double>> measure(const Measured& measured) {
  constexpr int digits = 10;
  std::vector<std::optional<double>> values;
  for (const Metric& metric : table) {
    const Value value = metric.of(measured);
    FABRICAST_CHECK(!value || std::isfinite(*value), fmt::format("metric {} is not a number", metric.name));
    values.push_back(value ? Value(rounded(*value, digits)) : value);
  }
  return values;
}

const ForecastRow& largest(const Forecast& forecast) {
  return *std::max_element(forecast.rows.begin(), forecast.rows.end(),
                           [](const ForecastRow& a, const ForecastRow& b) { return a.bytes < b.bytes; });
}

}  // namespace fabricast
