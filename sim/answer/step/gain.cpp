// The interval of a gain (report/step_settings.hpp): what the forecasts of two settings do not have in common.
//
// Parameters of hardware and software are the same for both, so their samples are paired. Errors of collectives beyond
// the parameters are those of the residual model, without derivatives, which the samples already cover.
#include <algorithm>
#include <cmath>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/residual_rows.hpp"
#include "fabricast/report/step_interval.hpp"
#include "step_time.hpp"

namespace fabricast {

namespace {

/// No measurement tells what more blocks cost computation: the forecast takes them for 16. Half of the samples take the
/// loss as proportional instead, so that a gain by more channels is certain only if it is one either way.
void extrapolate_interference(Hardware& hardware, const StepTime& time) {
  double blocks = measured_blocks;
  for (const StepCollective& c : time.collectives) blocks = std::max<double>(blocks, blocks_of(c.use.alone));
  for (auto& [name, stack] : hardware.stacks) stack.interference.value *= blocks / measured_blocks;
  for (auto& [name, stack] : hardware.serving) stack.interference.value *= blocks / measured_blocks;
}

/// The time with a sample of the parameters, on the first sample of the network.
Seconds sampled_time(const World& world, const StepTime& time, std::size_t sample) {
  Scenario s = world.scenario();
  Hardware hardware = sampled_hardware(s.hardware, sample);
  if (sample % 2 == 1) extrapolate_interference(hardware, time);
  const bool serves = s.workload.kind == WorkloadKind::inference;
  const TrainingStep step = serves ? TrainingStep{} : step_with(world.scenario(), hardware);
  s.hardware = std::move(hardware);
  const World other = build_world(std::move(s)).with_samples_up_to(1).with_beside(world.beside());
  if (serves) return step_time_of(other, one_thread).time;
  return run_step(other, step, one_thread, 1).time;
}

/// The row of a collective in the residual model, and the share of the time in which GPUs wait for it.
struct WeightedRow {
  ResidualRow row;
  double weight = 0;
};

std::vector<WeightedRow> rows_of(const World& world, const StepTime& time) {
  // Within a kind of parallelism, the exposed time belongs to collectives as their time does.
  std::array<Seconds, part_count> whole{};
  for (const StepCollective& c : time.collectives) whole[static_cast<std::size_t>(c.use.kind.part)] += c.use.time;
  std::vector<WeightedRow> rows;
  const auto gpus = static_cast<std::uint64_t>(world.scenario().node.spec.gpus);
  for (const StepCollective& c : time.collectives) {
    const auto part = static_cast<std::size_t>(c.use.kind.part);
    if (whole[part] <= Seconds{} || c.use.alone.makespan <= Seconds{}) continue;
    const auto algorithm = enum_from<Algorithm>(c.use.alone.algorithm);
    const auto protocol = enum_from<Protocol>(c.use.alone.protocol);
    const auto hosts = static_cast<std::int64_t>(std::max(c.shape.nodes, (c.shape.ranks + gpus - 1) / gpus));
    ResidualRow row;
    row.kind = residual_kind(world, hosts);
    row.op = c.use.kind.op;
    row.algorithm = algorithm.value_or(Algorithm::ring);
    row.protocol = protocol.value_or(Protocol::simple);
    row.bytes = std::max<std::int64_t>(1, c.use.kind.bytes);
    row.nodes = hosts;
    row.series = static_cast<std::size_t>(c.shape.nodes << 32U ^ c.shape.ranks);  // of one communicator
    row.forecast = c.use.alone.launch + c.use.alone.makespan;
    rows.push_back({std::move(row), time.exposed[part] * (c.use.time / whole[part])});
  }
  return rows;
}

/// c of the header.
double collective_half_width(const SampledStep& before, const SampledStep& after) {
  std::vector<ResidualRow> rows;
  std::vector<double> weights;
  const auto add = [&](const SampledStep& of, double sign) {
    for (WeightedRow& r : rows_of(of.world, of.time)) {
      if (r.weight == 0) continue;
      rows.push_back(std::move(r.row));
      weights.push_back(sign * r.weight);
    }
  };
  add(after, 1);
  add(before, -1);
  if (rows.empty()) return 0;
  return SiteResiduals(shipped_residuals(), {}, {}).of_sum(rows, weights).half_width();
}

}  // namespace

SampledStep sampled_step(const World& world, StepTime time, const RunOptions& options) {
  SampledStep s{world, std::move(time), {}, std::vector<Seconds>(gain_samples)};
  TaskProgress progress(options.progress, gain_samples + 1);
  in_parallel(gain_samples + 1, thread_count(options.threads), [&](std::size_t d) {
    stop_if_requested();
    if (d < gain_samples)
      s.samples[d] = sampled_time(world, s.time, d);
    else
      s.first = step_time_of(world.with_samples_up_to(1), one_thread).time;
    progress.one_done();
  });
  return s;
}

// Deviations are taken around the forecast, not around their own mean: a bias of the samples counts as error.
GainInterval gain_interval(const SampledStep& before, const SampledStep& after) {
  const double forecast = std::log(after.first / before.first);
  double squares = 0;
  for (std::size_t d = 0; d < gain_samples; ++d)
    squares += std::pow(std::log(after.samples[d] / before.samples[d]) - forecast, 2);
  const double parameters = std::sqrt(squares / static_cast<double>(gain_samples));
  const double half = std::hypot(quantile_95 * parameters, collective_half_width(before, after));
  const double ratio = after.time.time / before.time.time;
  return {1 - ratio * std::exp(half), 1 - ratio, 1 - ratio / std::exp(half)};
}

}  // namespace fabricast
