// Forecasts what a job repeats, as one JobTime for collectives, training steps, traces and inference.
//
// Besides the time, a JobTime has the collectives with their duty, the fraction of the job's time in which each runs:
// that is all that other jobs feel of it.
#include <algorithm>

#include "fabricast/jobs/others.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/step.hpp"

namespace fabricast {

namespace {

/// A program of one collective over all ranks, which stands for the call.
/// traffic_of takes a program, as steps have; a single collective becomes one without activities.
Program program_of_call(const World& world, const Plan& plan) {
  Program program;
  std::vector<std::uint32_t> ranks(static_cast<std::size_t>(world.planner().comm.ranks()));
  for (std::uint32_t r = 0; r < ranks.size(); ++r) ranks[r] = r;
  program.groups.push_back({std::move(ranks)});
  CollectiveKind kind;
  kind.name = name_of(plan.op);
  kind.op = plan.op;
  kind.bytes = plan.bytes;
  program.collectives.push_back(std::move(kind));
  return program;
}

JobTime time_call(const World& world, std::int64_t size, const RunOptions& options) {
  Forecast forecast = run_plans(world, {plan_workload(world, size)}, options);
  const ForecastRow& row = forecast.rows.front();
  JobTime time;
  time.time = row.time;
  time.time_p5 = row.time_p5;
  time.time_p95 = row.time_p95;
  time.time_worst = row.time_worst;
  time.samples = forecast.samples;
  time.bottleneck = row.result.bottleneck.name;
  time.collectives = program_of_call(world, row.plan);
  // The benchmark tool may repeat calls faster than a call takes alone (overlap); the network is then always busy.
  time.duty = {std::min(1.0, row.result.makespan / row.time)};
  time.fingerprint = forecast.fingerprint;
  return time;
}

/// Sets the collectives and their duties. The collective that runs longest gives the bottleneck of the job.
void set_collectives(JobTime& time, const Program& program, const std::vector<CollectiveUse>& uses) {
  time.collectives.groups = program.groups;
  Seconds longest;
  for (const CollectiveUse& use : uses) {
    time.collectives.collectives.push_back(use.kind);
    time.duty.push_back(use.time / time.time);
    if (use.time > longest) {
      longest = use.time;
      time.bottleneck = use.alone.bottleneck;
    }
  }
}

JobTime of_step(const StepForecast& f) {
  JobTime time;
  time.time = f.time;
  time.time_p5 = f.time_p5;
  time.time_p95 = f.time_p95;
  time.time_worst = f.time_worst;
  time.samples = f.samples;
  time.fingerprint = f.fingerprint;
  set_collectives(time, f.program, f.collectives);
  return time;
}

// A decode step in steady state; the load of requests over time is not part of the traffic.
JobTime of_inference(const InferenceForecast& f) {
  JobTime time;
  time.time = f.step.time;
  time.time_p5 = f.step_p5;
  time.time_p95 = f.step_p95;
  time.time_worst = f.step_worst;
  time.samples = f.samples;
  time.fingerprint = f.fingerprint;
  set_collectives(time, f.step.program, f.step.collectives);
  return time;
}

}  // namespace

JobTime time_job(const World& world, std::int64_t size, const RunOptions& options) {
  switch (world.scenario().workload.kind) {
    case WorkloadKind::training_step: return of_step(run_step(world, options));
    case WorkloadKind::inference: return of_inference(run_inference(world, options, false));
    case WorkloadKind::trace: return of_step(run_trace(world, options));
    default: return time_call(world, size, options);
  }
}

}  // namespace fabricast
