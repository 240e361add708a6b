// The table of metrics, one entry for each. Names end in their unit.
//
// A metric is empty where the workload has no such value. Metrics of one name must mean the same for every workload,
// because studies may have the workload as an axis. Order and names are a contract: columns of CSV and of the results
// file.
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

// GPUs of the job, not of the cluster: the bill has hosts that the job does not use.
double gpus(const Measured& m) {
  return static_cast<double>(m.world.scenario().cluster.nodes) * m.world.scenario().node.spec.gpus;
}

Value seconds(const Measured& m) {
  if (m.collective) return largest(*m.collective).time.value;
  return m.step ? m.step->time.value : m.inference->step.time.value;
}
Value seconds_p95(const Measured& m) {
  if (m.collective) return largest(*m.collective).time_p95.value;
  return m.step ? m.step->time_p95.value : m.inference->step_p95.value;
}
Value seconds_worst(const Measured& m) {
  if (m.collective) return largest(*m.collective).time_worst.value;
  return m.step ? m.step->time_worst.value : m.inference->step_worst.value;
}
Value steps_only(const Measured& m, Value (*f)(const Measured&)) { return m.collective ? std::nullopt : f(m); }

// Empty for inference, whose steps and waits have different factors.
Value interval(const Measured& m) {
  const double factor = m.collective ? largest(*m.collective).factor : m.step ? m.step->factor : 0;
  return factor > 1 ? Value(factor) : std::nullopt;
}

// Phase both: tokens of the simulated load. A trace has no tokens.
Value tokens_per_second(const Measured& m) {
  if (m.inference) return m.inference->tokens_per_second;
  return m.step && m.step->tokens > 0 ? Value(m.step->tokens_per_second()) : std::nullopt;
}

template <class F>
Value of_bill(const Measured& m, F f) {
  return m.bill ? Value(static_cast<double>(f(*m.bill))) : std::nullopt;
}
/// Empty if some lines have no price, because the sum would be too low.
template <class F>
Value of_cost(const Measured& m, F f) {
  return m.cost && m.cost->not_priced == 0 ? Value(f(*m.cost)) : std::nullopt;
}

template <class F>
Value of_risk(const Measured& m, F f) {
  return m.risk ? Value(f(*m.risk)) : std::nullopt;
}

Seconds exposed(const ActorTimes& times) {
  return std::accumulate(times.exposed.begin(), times.exposed.end(), Seconds{});
}

const Serving* serving_of(const Measured& m) { return m.inference ? m.inference->serving() : nullptr; }

constexpr std::array table = {
    Metric{"gpus", "GPUs of the job", Better::neither, [](const Measured& m) { return Value(gpus(m)); }},
    Metric{"time_s", "s of the largest size or of a step, median over samples", Better::lower, seconds},
    Metric{"time_s_p95", "s, exceeded by 5 % of samples", Better::lower, seconds_p95},
    Metric{"time_s_worst", "s, of the slowest sample", Better::lower, seconds_worst},
    Metric{"interval", "90 % interval: the measured time is within this factor of time_s", Better::neither, interval},
    Metric{"time_us", "us of the largest size of a collective", Better::lower,
           [](const Measured& m) { return of_collective(m, [](const auto& row) { return microseconds(row.time); }); }},
    Metric{"busbw_gbps", "GB/s, bus bandwidth of the largest size", Better::higher,
           [](const Measured& m) {
             return of_collective(
                 m, [&](const auto& row) { return gigabytes_per_second(m.collective->bus_bandwidth(row)); });
           }},
    Metric{"algbw_gbps", "GB/s, size divided by time of the largest size", Better::higher,
           [](const Measured& m) {
             return of_collective(m, [](const auto& row) { return gigabytes_per_second(row.algorithm_bandwidth()); });
           }},
    Metric{"step_s", "s of a training or inference step, median over samples", Better::lower,
           [](const Measured& m) { return steps_only(m, seconds); }},
    Metric{"step_s_p95", "s, exceeded by 5 % of samples", Better::lower,
           [](const Measured& m) { return steps_only(m, seconds_p95); }},
    Metric{"step_s_worst", "s, of the slowest sample", Better::lower,
           [](const Measured& m) { return steps_only(m, seconds_worst); }},
    Metric{"tokens_per_s", "tokens per second of all GPUs", Better::higher, tokens_per_second},
    Metric{"tokens_per_s_per_gpu", "tokens per second, per GPU", Better::higher,
           [](const Measured& m) {
             const Value all = tokens_per_second(m);
             return all ? Value(*all / gpus(m)) : all;
           }},
    Metric{"mfu", "model FLOPs utilization: FLOP/s of the model over the peak of the GPUs", Better::higher,
           [](const Measured& m) {
             if (m.step && m.step->tokens == 0) return Value();
             return m.step ? Value(m.step->mfu()) : of_inference(m, [](const auto& f) { return f.mfu; });
           }},
    Metric{"exposed", "fraction of the step that waits for collectives", Better::lower,
           [](const Measured& m) {
             return m.step ? of_step(m, [](const auto& f) { return exposed(f.mean) / f.time; })
                           : of_inference(m, [](const auto& f) { return exposed(f.step.mean) / f.step.time; });
           }},
    Metric{"bubble", "fraction of the step that waits for other pipeline stages", Better::lower,
           [](const Measured& m) { return of_step(m, [](const auto& f) { return f.mean.bubble / f.time; }); }},
    Metric{"memory", "fraction of the memory of a GPU that is used, in the fullest stage", Better::lower,
           [](const Measured& m) {
             if (m.step && m.step->memory.stages.empty()) return Value();
             return m.step ? Value(m.step->memory.share())
                           : of_inference(m, [](const auto& f) { return f.memory.share(f.capacity); });
           }},
    Metric{"first_token_s", "s, time to first token (TTFT), mean", Better::lower,
           [](const Measured& m) {
             const Serving* serving = serving_of(m);
             return serving ? Value(serving->first_token.mean.value) : std::nullopt;
           }},
    Metric{"inter_token_s", "s, time per output token (TPOT), mean", Better::lower,
           [](const Measured& m) {
             const Serving* serving = serving_of(m);
             return serving ? Value(serving->inter_token.mean.value) : std::nullopt;
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
    Metric{"network_power_per_gpu_w", "network_power_w per GPU", Better::lower,
           [](const Measured& m) {
             return of_bill(m, [](const Bill& b) { return b.network_watts() / static_cast<double>(b.gpus); });
           }},
    Metric{"cost", "purchase cost, in the currency of the prices", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.bought; }); }},
    Metric{"network_cost", "purchase cost of switches, cables, transceivers and NICs", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.network; }); }},
    Metric{"cost_per_gpu", "purchase cost per GPU", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.per_gpu(); }); }},
    Metric{"network_cost_per_gpu", "network_cost per GPU", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.network_per_gpu(); }); }},
    Metric{"cost_per_hour", "cost of an hour: purchase spread over the years, opex, energy", Better::lower,
           [](const Measured& m) { return of_cost(m, [](const Cost& c) { return c.per_hour; }); }},
    Metric{
        "cost_per_step", "cost of a step, or of a call of the largest size, for the hosts of the job", Better::lower,
        [](const Measured& m) { return of_cost(m, [&](const Cost& c) { return c.of_time(Seconds{*seconds(m)}); }); }},
    Metric{"cost_per_mtokens", "cost of a million tokens", Better::lower,
           [](const Measured& m) {
             const Value tokens = tokens_per_second(m);
             return tokens ? of_cost(m, [&](const Cost& c) { return c.of_time(Seconds{1e6 / *tokens}); })
                           : std::nullopt;
           }},
    Metric{"goodput", "fraction of a month with failures that is useful work", Better::higher,
           [](const Measured& m) { return of_risk(m, [](const Risk& r) { return r.month.goodput; }); }},
    Metric{"stops", "failures per month that stop the job", Better::lower,
           [](const Measured& m) { return of_risk(m, [](const Risk& r) { return r.month.stops; }); }},
    Metric{"month_s_p95", "s, exceeded by 5 % of the steps or calls of a month with failures", Better::lower,
           [](const Measured& m) { return of_risk(m, [](const Risk& r) { return r.month.time_p95.value; }); }},
    Metric{"worst_failure", "slowdown by the worst single failure that does not stop the job", Better::lower,
           [](const Measured& m) {
             return of_risk(m, [](const Risk& r) { return r.worst_survived() ? r.worst_survived()->worst : 1.0; });
           }},
};

}  // namespace

std::span<const Metric> metrics() { return table; }

// By name, as the table is also the place where someone adds a metric of risk.
bool is_of_risk(std::size_t metric) {
  constexpr std::array names = {"goodput", "stops", "month_s_p95", "worst_failure"};
  return std::find(names.begin(), names.end(), table[metric].name) != names.end();
}

bool is_of_prices(std::size_t metric) { return table[metric].name.find("cost") != std::string_view::npos; }

std::optional<std::size_t> find_metric(std::string_view name) {
  const Metric* metric = find_by_name(table, name);
  return metric ? std::optional(static_cast<std::size_t>(metric - table.data())) : std::nullopt;
}

std::size_t metric_named(std::string_view name, const std::string& path) {
  if (const auto found = find_metric(name)) return *found;
  throw UserError::at(path, fmt::format("unknown metric '{}'", name), suggestion(name, names_of(table)));
}

std::vector<std::optional<double>> measure(const Measured& measured) {
  constexpr int digits = 10;
  std::vector<std::optional<double>> values;
  for (const Metric& metric : table) {
    const Value value = metric.of(measured);
    // An infinite or undefined value could not be compared or stored; such a metric must be empty instead.
    FABRICAST_CHECK(!value || std::isfinite(*value), fmt::format("metric {} is not finite", metric.name));
    values.push_back(value ? Value(rounded(*value, digits)) : value);
  }
  return values;
}

const ForecastRow& largest(const Forecast& forecast) {
  return *std::max_element(forecast.rows.begin(), forecast.rows.end(),
                           [](const ForecastRow& a, const ForecastRow& b) { return a.bytes < b.bytes; });
}

}  // namespace fabricast
