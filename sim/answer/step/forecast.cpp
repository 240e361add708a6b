// The forecast of a training step or a trace: runs its program on all samples and summarizes the median one
// (report/step.hpp).
//
// models/workload makes programs, sim/engine/traffic times their collectives, sim/step runs them on a clock, and
// variation.cpp samples slow hosts. Actors are pipeline stages (or ranks of a trace): one GPU stands for all that do
// the same.
#include "fabricast/report/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>

#include "../collective/variation.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/samples.hpp"
#include "fabricast/traffic/flow_traffic.hpp"
#include "lost.hpp"
#include "parts.hpp"

namespace fabricast {

// Actors stand for different numbers of ranks, so means over GPUs are weighted by them.
ActorTimes mean_of(const Program& program, const std::vector<ActorTimes>& actors) {
  ActorTimes mean;
  double ranks = 0;
  for (const Actor& a : program.actors) ranks += a.ranks;
  for (std::size_t i = 0; i < actors.size(); ++i) {
    const ActorTimes& a = actors[i];
    const double part = program.actors[i].ranks / ranks;
    for (std::size_t p = 0; p < part_count; ++p) {
      mean.busy[p] += a.busy[p] * part;
      mean.exposed[p] += a.exposed[p] * part;
    }
    mean.interference += a.interference * part;
    mean.bubble += a.bubble * part;
  }
  return mean;
}

// An activity may stand for several equal calls in a row. The slowdown is the time that calls took beside others and
// other jobs, relative to the same calls alone; it says how much sharing of links costs.
std::vector<CollectiveUse> uses_of(const Program& program, const Timeline& timeline, Traffic& traffic) {
  std::vector<CollectiveUse> all(program.collectives.size()), uses;
  for (std::size_t i = 0; i < program.activities.size(); ++i) {
    const Activity& a = program.activities[i];
    if (!a.is_collective()) continue;
    all[a.collective].calls += a.calls;
    all[a.collective].time += timeline.end[i] - timeline.start[i];
  }
  for (std::uint32_t k = 0; k < all.size(); ++k) {
    if (all[k].calls == 0) continue;
    CollectiveUse use = all[k];
    use.kind = program.collectives[k];
    use.alone = traffic.alone(k);
    use.slowdown = use.time / (use.calls * use.alone.makespan);
    uses.push_back(std::move(use));
  }
  return uses;
}

// Even the busiest stage waits while the pipeline fills and drains. What other stages wait beyond that is due to uneven
// stages.
Seconds schedule_bubble(const StepForecast& f) {
  Seconds least = f.mean.bubble;
  for (const ActorTimes& stage : f.stages) least = std::min(least, stage.bubble);
  return least;
}

TrainingStep step_of(const World& world) {
  const Scenario& s = world.scenario();
  return training_step(s.workload.training, s.node.spec, s.hardware, nvlink_ranks(s));
}

int blocks_of(const CollectiveTime& collective) {
  return collective.algorithm == name_of(Algorithm::copy_engine) ? 0 : collective.channels;
}

TimelineOptions timeline_options(double interference, const Program& program, Traffic& traffic) {
  // A channel occupies an SM. The parameter was measured with collectives of 16 channels.
  // More channels than 16 count as 16: no measurement tells what they cost.
  TimelineOptions options;
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) {
    const double held = program.collectives[k].sms;
    options.interference.push_back(
        held > 0 ? held : interference * std::min(1.0, blocks_of(traffic.alone(k)) / measured_blocks));
  }
  return options;
}

namespace {

/// Runs a program on all samples, and keeps the timeline of the median one.
/// \param samples_of_step  number of samples; beyond those of the network, its samples are used again
/// \param options_of       (sample, traffic) -> options of the timeline
/// A training step may have more sampled steps (slow hosts, jitter) than samples of the network. Sample i runs on
/// network sample i mod n, so both kinds of randomness are covered without a new network for every step.
template <class OptionsOf>
void simulate(const World& world, int samples_of_step, OptionsOf options_of, const RunOptions& options,
              StepForecast& f) {
  f.samples = samples_of_step;
  const auto samples = static_cast<std::size_t>(f.samples);
  const auto seeds = std::min(samples, static_cast<std::size_t>(world.samples().count));
  const std::size_t threads = thread_count(options.threads);
  // The traffic holds the times of the program's collectives on one sample of the network. Threads that samples do not
  // need work inside it.
  const auto traffic_of = [&](std::size_t sample, std::size_t concurrent) {
    return make_flow_traffic(world, f.program, world.samples().first_seed + sample % seeds,
                             std::max<std::size_t>(1, threads / concurrent));
  };
  const auto lost_of = [&](std::size_t sample) {
    return LostPackets(world, f.program, world.samples().first_seed + sample % seeds);
  };
  const auto run = [&](std::size_t sample, Traffic& traffic, const LostPackets& lost) {
    Timeline timeline = run_program(f.program, traffic, options_of(sample, traffic));
    lost.add_to(timeline, world.samples().first_seed + sample);
    return timeline;
  };
  std::vector<Seconds> times(samples);
  std::unique_ptr<Traffic> traffic;
  TaskProgress progress(options.progress, samples + 1);
  // Steps on the same sample of the network share the times of its collectives.
  in_parallel(seeds, threads, [&](std::size_t seed) {
    std::unique_ptr<Traffic> own = traffic_of(seed, seeds);
    const LostPackets lost = lost_of(seed);
    for (std::size_t sample = seed; sample < samples; sample += seeds) {
      stop_if_requested();
      Timeline timeline = run(sample, *own, lost);
      times[sample] = timeline.time;
      if (samples == 1) f.timeline = std::move(timeline);
      progress.one_done();
    }
    // With one sample of the network its traffic serves the median step as well.
    if (seeds == 1) traffic = std::move(own);
  });
  const RankedSamples ranked(times);
  const std::size_t median = ranked.at(0.5);
  f.time = times[median];
  f.time_p5 = times[ranked.at(0.05)];
  f.time_p95 = times[ranked.at(0.95)];
  f.time_worst = times[ranked.at(1)];
  for (const Seconds t : times) f.fingerprint = fold(f.fingerprint, std::bit_cast<std::uint64_t>(t.value));
  f.sample_times = times;
  // Timelines of all samples would take too much memory, so the median one is run again.
  if (!traffic) traffic = traffic_of(median, 1);
  if (samples > 1) f.timeline = run(median, *traffic, lost_of(median));
  f.stages = f.timeline.actors;
  f.mean = mean_of(f.program, f.stages);
  f.collectives = uses_of(f.program, f.timeline, *traffic);
  if (options.progress) options.progress(1);
}

}  // namespace

StepForecast run_step(const World& world, const RunOptions& options) {
  return run_step(world, step_of(world), options);
}

StepForecast run_step(const World& world, const TrainingStep& step, const RunOptions& options, int most_samples) {
  const VariationSpec& variation = world.scenario().workload.training.variation;
  StepForecast f;
  f.world = world;
  f.program = training_program(step);
  f.gpus = step.layout.ranks();
  f.tokens = static_cast<double>(step.global_batch) * static_cast<double>(step.model.sequence);
  f.flops = model_flops_per_gpu(step, false);
  f.flops_causal = model_flops_per_gpu(step, true);
  f.peak = step.kernels.peak[static_cast<std::size_t>(step.precision)];
  f.memory = memory_of_step(step, nvlink_ranks(world.scenario()));
  const Variation differing(step, variation, slow_parts(world), world.scenario().node.spec.gpus, f.program);
  const auto options_of = [&](std::size_t sample, Traffic& traffic) {
    TimelineOptions how = timeline_options(step.stack.interference.value, f.program, traffic);
    how.slower = differing.slower(sample);
    return how;
  };
  // Percentiles are over at least as many steps as either kind of randomness asks for.
  const int samples = std::max(world.samples().count, variation.steps);
  simulate(world, most_samples > 0 ? std::min(samples, most_samples) : samples, options_of, options, f);
  return f;
}

StepForecast run_trace(const World& world, const RunOptions& options) {
  const Scenario& s = world.scenario();
  const Kernels kernels = resolve_kernels(s.node.spec, s.hardware);
  const double gemms = kernels.gemm_rate(Precision::bf16), memory = kernels.memory_rate.value;
  StepForecast f;
  f.world = world;
  // Traces record computation with durations. Nodes without a duration but with FLOPs and bytes take a roofline
  // estimate: at the rate of bf16 GEMMs, or of streaming memory.
  f.program = read_trace(s.workload.trace, [&](double flops, double bytes) {
    return Seconds{std::max(flops / gemms, bytes / (memory * kernels.model.stream.value))};
  });
  f.gpus = ranks_of(f.program);
  // A trace has a fixed number of ranks, so the scenario must describe a cluster of that size.
  if (const std::int64_t gpus = std::int64_t{s.cluster.nodes} * s.node.spec.gpus; f.gpus != gpus)
    throw UserError::at("cluster.nodes", fmt::format("the trace has {} ranks, but the job has {} GPUs", f.gpus, gpus),
                        f.gpus % s.node.spec.gpus == 0 ? fmt::format("nodes: {}", f.gpus / s.node.spec.gpus)
                                                       : std::string("also change node.gpus"));
  // Recorded times of computation already contain the interference of collectives.
  simulate(
      world, std::max(world.samples().count, 1), [](std::size_t, Traffic&) { return TimelineOptions{}; }, options, f);
  return f;
}

}  // namespace fabricast
