// Forecasts what a job repeats, as one JobTime for collectives, training steps, traces and inference.
//
// Besides the time, a JobTime has the collectives with their duty, the fraction of the job's time in which each runs:
// nothing else of it affects other jobs.
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
  // The benchmark tool may repeat calls faster than a call takes alone (overlap); the network is then always busy.
  const double duty = std::min(1.0, row.result.makespan / row.time);
  return {row.time,
          row.time_p5,
          row.time_p95,
          row.time_worst,
          forecast.samples,
          row.result.bottleneck.name,
          program_of_call(world, row.plan),
          {duty},
          forecast.fingerprint};
}

/// Sets the collectives and their duties. The collective that runs longest gives the bottleneck of the job.
JobTime with_collectives(JobTime job, const Program& program, const std::vector<CollectiveUse>& uses) {
  job.collectives.groups = program.groups;
  Seconds longest;
  for (const CollectiveUse& use : uses) {
    job.collectives.collectives.push_back(use.kind);
    job.duty.push_back(use.time / job.time);
    if (use.time > longest) {
      longest = use.time;
      job.bottleneck = use.alone.bottleneck;
    }
  }
  return job;
}

JobTime of_step(const StepForecast& f) {
  return with_collectives({f.time, f.time_p5, f.time_p95, f.time_worst, f.samples, {}, {}, {}, f.fingerprint},
                          f.program, f.collectives);
}

// A decode step in steady state; the load of requests over time is not part of the traffic.
JobTime of_inference(const InferenceForecast& f) {
  return with_collectives({f.step.time, f.step_p5, f.step_p95, f.step_worst, f.samples, {}, {}, {}, f.fingerprint},
                          f.step.program, f.step.collectives);
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
