#include "fabricast/report/step.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/step/flow_traffic.hpp"
#include "step_parts.hpp"

namespace fabricast {

namespace {

/// What stages take longer in the replica that has most slow hosts: all others wait for it.
std::vector<double> slower_stages(const TrainingStep& step, const VariationSpec& variation, int gpus_per_host,
                                  std::size_t draw) {
  if (variation.slow_hosts.value == 0) return {};
  const ParallelLayout& layout = step.layout;
  Rng rng(static_cast<std::uint64_t>(variation.seed) + draw * 0x9e3779b97f4a7c15ULL);
  std::vector<bool> slow(static_cast<std::size_t>((layout.ranks() + gpus_per_host - 1) / gpus_per_host));
  for (std::size_t h = 0; h < slow.size(); ++h) slow[h] = rng.uniform() < variation.slow_hosts.value;
  const auto replicas = static_cast<std::size_t>(layout.data);
  std::vector<std::vector<bool>> hit(replicas, std::vector<bool>(static_cast<std::size_t>(layout.pipeline)));
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    const auto c = layout.coordinates(r);
    if (slow[static_cast<std::size_t>(r / gpus_per_host)])
      hit[static_cast<std::size_t>(c[static_cast<std::size_t>(Dimension::data)])]
         [static_cast<std::size_t>(c[static_cast<std::size_t>(Dimension::pipeline)])] = true;
  }
  const auto stages_hit = [](const std::vector<bool>& h) { return std::count(h.begin(), h.end(), true); };
  const auto most = std::max_element(hit.begin(), hit.end(),
                                     [&](const auto& a, const auto& b) { return stages_hit(a) < stages_hit(b); });
  std::vector<double> slower;
  for (const bool h : *most) slower.push_back(h ? 1 + variation.slowdown.value : 1);
  return slower;
}

}  // namespace

ActorTimes mean_of(const std::vector<ActorTimes>& actors) {
  ActorTimes mean;
  const double n = static_cast<double>(actors.size());
  for (const ActorTimes& a : actors) {
    for (std::size_t p = 0; p < parts; ++p) mean.busy[p] += a.busy[p] / n, mean.exposed[p] += a.exposed[p] / n;
    mean.interference += a.interference / n, mean.bubble += a.bubble / n;
  }
  return mean;
}

std::vector<ExchangeUse> uses_of(const Program& program, const Timeline& timeline, Traffic& traffic) {
  std::vector<ExchangeUse> all(program.exchanges.size()), uses;
  for (std::size_t i = 0; i < program.activities.size(); ++i) {
    const Activity& a = program.activities[i];
    if (!a.is_exchange()) continue;
    all[a.exchange].calls += a.calls;
    all[a.exchange].seconds += timeline.end[i] - timeline.start[i];
  }
  for (std::uint32_t k = 0; k < all.size(); ++k) {
    if (all[k].calls == 0) continue;
    ExchangeUse use = all[k];
    use.kind = program.exchanges[k], use.alone = traffic.alone(k);
    use.slowdown = use.seconds / (use.calls * use.alone.seconds);
    uses.push_back(std::move(use));
  }
  return uses;
}

TrainingStep step_of(const World& world) {
  const Scenario& s = world.scenario;
  return training_step(s.workload.training, s.node.spec, s.hardware);
}

StepForecast run_step(const World& world, const RunOptions& options) {
  const TrainingStep step = step_of(world);
  const VariationSpec& variation = world.scenario.workload.training.variation;
  StepForecast f;
  f.program = training_program(step);
  f.gpus = step.layout.ranks();
  f.tokens = static_cast<double>(step.global_batch) * static_cast<double>(step.model.sequence);
  f.flops = model_flops_per_gpu(step, false), f.flops_causal = model_flops_per_gpu(step, true);
  f.peak = step.kernels.peak[static_cast<std::size_t>(step.precision)];
  f.draws = std::max(world.draws.count, variation.steps);

  const auto draws = static_cast<std::size_t>(f.draws);
  const auto run = [&](std::size_t draw, Traffic& traffic) {
    TimelineOptions how;
    how.interference = step.stack.interference.value;
    how.slower = slower_stages(step, variation, world.scenario.node.spec.gpus, draw);
    return run_program(f.program, traffic, how);
  };
  const auto traffic_of = [&](std::size_t draw) {
    const auto seeds = static_cast<std::size_t>(world.draws.count);
    return make_flow_traffic(world, f.program, world.draws.first_seed + draw % seeds);
  };
  std::vector<double> seconds(draws);
  std::size_t done = 0;
  std::mutex mutex;
  in_parallel(draws, thread_count(options.threads), [&](std::size_t draw) {
    stop_if_requested();
    seconds[draw] = run(draw, *traffic_of(draw)).seconds;
    if (!options.progress) return;
    const std::scoped_lock lock(mutex);
    options.progress(static_cast<double>(++done) / static_cast<double>(draws + 1));
  });
  std::vector<std::size_t> order(draws);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
  const auto at = [&](double part) {
    return order[std::min(draws - 1, static_cast<std::size_t>(part * static_cast<double>(draws)))];
  };
  f.seconds = seconds[at(0.5)], f.seconds_p5 = seconds[at(0.05)], f.seconds_p95 = seconds[at(0.95)];
  f.seconds_worst = seconds[order.back()];
  for (const double s : seconds) f.fingerprint = fold(f.fingerprint, std::bit_cast<std::uint64_t>(s));
  // The median draw once more, to keep what happens in it.
  const auto traffic = traffic_of(at(0.5));
  f.timeline = run(at(0.5), *traffic);
  f.stages = f.timeline.actors, f.mean = mean_of(f.stages);
  f.exchanges = uses_of(f.program, f.timeline, *traffic);
  if (options.progress) options.progress(1);
  return f;
}

}  // namespace fabricast
