// Simulates collectives: from plans to rows of times over samples (report/forecast.hpp).
//
//    plan_workload    size -> the size that the tool sends -> NCCL's plan
//    simulate         plans x samples -> engine -> other jobs -> what the tool prints -> order statistics
//
// Everything that needs times of collectives goes through `simulate`: the forecast, the alternatives, what-ifs, the
// tuner table, intervals. Steps do not; they use traffic/flow_traffic.hpp.
#include "fabricast/report/forecast.hpp"

#include <algorithm>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/harness.hpp"
#include "fabricast/report/samples.hpp"
#include "fabricast/scenario/lossy.hpp"
#include "fabricast/traffic/beside.hpp"

namespace fabricast {

namespace {

/// One row in one sample.
struct Cell {
  Seconds time;
  CollectiveResult result;
};

/// Adds the timeouts of a call in one sample. Each size draws its own, as calls follow each other.
void wait_for_lost(const World& world, const LossModel& loss, const Plan& plan, std::uint64_t seed,
                   CollectiveResult& result) {
  const Planner& planner = world.planner();
  const Overload overload = loss.drops ? overload_of(world.setup(), plan, seed) : Overload{};
  const CallPackets packets = packets_of(call_shape(planner.comm, planner.buffers, plan), loss.packet);
  const std::uint64_t draw = mix64(mix64(seed) ^ static_cast<std::uint64_t>(plan.bytes));
  const Seconds wait = timeouts_in_series(loss, packets, overload, draw) * loss.timeout;
  result.makespan += wait;
  result.work += wait;
  result.fill += wait;
}

/// Simulates the plans of all rows with all samples, and fills in the results.
void simulate(const World& world, const RunOptions& options, Forecast& forecast) {
  if (forecast.rows.empty()) return;
  const Scenario& s = world.scenario();
  const Communicator& comm = world.planner().comm;
  // A task is one sample with all sizes, because sizes share the counts of loads of a sample. With a single sample, the
  // sizes are divided among tasks instead.
  const auto samples = static_cast<std::size_t>(world.samples().count), sizes = forecast.rows.size();
  // Results go to fixed places and are combined afterwards in the order of samples, so the output does not depend on
  // which thread finishes first.
  std::vector<Cell> cells(samples * sizes);
  // The chunk engine forks, which is safe in a single-threaded process only.
  const std::size_t threads = s.network.engine == EngineKind::chunk ? 1 : thread_count(options.threads);
  // At most 8 parts, because each has an engine of its own, and sizes of different parts share fewer counts.
  const std::size_t parts = samples > 1 || thread_count(options.threads) == 1 ? 1 : std::min<std::size_t>(sizes, 8);
  // Threads that tasks do not need are given to their engines.
  const std::size_t spare = std::max<std::size_t>(1, threads / (samples * parts));
  TaskProgress progress(options.progress, cells.size());
  const std::optional<LossModel> loss = loss_model(world);
  in_parallel(samples * parts, threads, [&](std::size_t task) {
    const std::size_t sample = task / parts, part = task % parts;
    // The seed identifies the sample, not the size: all sizes of a sample see the same ECMP hash outcomes, as all calls
    // of one launch of a job do.
    const std::uint64_t seed = world.samples().first_seed + sample;
    const EngineLease engine = world.engine(seed, spare);
    const std::unique_ptr<CallBeside> beside =
        world.beside().empty() ? nullptr : std::make_unique<CallBeside>(world, seed);
    for (std::size_t i = sizes * part / parts; i < sizes * (part + 1) / parts; ++i) {
      stop_if_requested();
      Cell& cell = cells[sample * sizes + i];
      cell.result = engine->run(forecast.rows[i].plan);
      // The order matters. Other jobs slow the call down on the network; only then does the benchmark tool overlap
      // calls and add its own cost.
      if (beside) beside->slow_down(forecast.rows[i].plan, cell.result);
      if (loss) wait_for_lost(world, *loss, forecast.rows[i].plan, seed, cell.result);
      cell.time = harness_time(s.workload.harness, comm, forecast.rows[i].plan, cell.result);
      progress.one_done();
    }
  });

  for (std::size_t i = 0; i < sizes; ++i) {
    ForecastRow& row = forecast.rows[i];
    row.sample_times.clear();
    for (std::size_t d = 0; d < samples; ++d) row.sample_times.push_back(cells[d * sizes + i].time);
    const RankedSamples ranked(row.sample_times);
    const auto time_at = [&](double fraction) { return row.sample_times[ranked.at(fraction)]; };
    row.time = time_at(0.5);
    row.time_p5 = time_at(0.05);
    row.time_p95 = time_at(0.95);
    row.time_worst = time_at(1);
    row.median_sample = ranked.at(0.5);
    for (std::size_t d = 0; d < samples; ++d)
      forecast.fingerprint = fold(forecast.fingerprint, cells[d * sizes + i].result.fingerprint);
    row.result = std::move(cells[row.median_sample * sizes + i].result);
  }
}

Forecast empty_forecast(const World& world) {
  Forecast forecast;
  forecast.world = world;
  forecast.ranks = world.planner().comm.ranks();
  forecast.op = world.scenario().workload.collective;
  forecast.samples = world.samples().count;
  return forecast;
}

// For a plan that stands in for a choice without a schedule, the row names NCCL's choice with time 0, which means "not
// simulated".
ForecastRow row_of(Plan plan) {
  ForecastRow row;
  row.bytes = plan.bytes;
  row.plan = std::move(plan);
  row.algorithm = row.plan.algorithm;
  row.protocol = row.plan.protocol;
  row.channels = row.plan.open_channels();
  if (row.plan.stands_in) row.nccl = {row.plan.candidates.front().algorithm, row.plan.candidates.front().protocol, 0};
  return row;
}

/// The algorithms and protocols that NCCL considered besides the one that runs, and that have a schedule.
std::vector<Candidate> others_of(const Communicator& comm, const ForecastRow& row, CollectiveOp op) {
  std::vector<Candidate> others;
  for (const Candidate& c : row.plan.candidates)
    if (is_simulated(comm, op, c.algorithm, c.protocol) && (c.algorithm != row.algorithm || c.protocol != row.protocol))
      others.push_back(c);
  return others;
}

/// The fastest row of each size, and NCCL's choice among equal ones.
/// \param all  the alternatives (others_of) of each row of `own`, in order
Forecast keep_fastest(const Communicator& comm, Forecast all, Forecast own) {
  std::size_t next = 0;
  for (ForecastRow& row : own.rows) {
    const Choice nccl{row.algorithm, row.protocol, row.time};
    ForecastRow* best = &row;
    for (std::size_t end = next + others_of(comm, row, own.op).size(); next < end; ++next)
      if (all.rows[next].time < best->time) best = &all.rows[next];
    if (best == &row) continue;
    // The winner's plan was made for a forced algorithm, so its list of candidates is not NCCL's own. The list, and who
    // chose from it, stay those of NCCL.
    best->plan.candidates = std::move(row.plan.candidates);
    best->plan.chooser = row.plan.chooser;
    best->nccl = row.nccl ? row.nccl : nccl;
    best->bytes = row.bytes;
    row = std::move(*best);
  }
  own.fingerprint = fold(own.fingerprint, all.fingerprint);
  return own;
}

}  // namespace

RunOptions part_of(const RunOptions& options, double begin, double end) {
  RunOptions part = options;
  if (options.progress)
    part.progress = [whole = options.progress, begin, end](double done) { whole(begin + done * (end - begin)); };
  return part;
}

Plan plan_workload(const World& world, std::int64_t asked) {
  const WorkloadSection& w = world.scenario().workload;
  // The rounding comes before NCCL's choice: nccl-tests passes the rounded size to NCCL, which may choose differently
  // for it.
  const std::int64_t bytes = harness_bytes(w.harness, w.collective, world.planner().comm.ranks(), asked);
  return plan_collective(world.planner(), w.collective, bytes);
}

Forecast run_plans(const World& world, std::vector<Plan> plans, const RunOptions& options) {
  Forecast forecast = empty_forecast(world);
  // Plans of the caller may be of another operation than the scenario's (tuner tables are for five operations).
  if (!plans.empty()) forecast.op = plans.front().op;
  for (Plan& plan : plans) forecast.rows.push_back(row_of(std::move(plan)));
  simulate(world, options, forecast);
  return forecast;
}

namespace {

/// Simulates the alternatives (others_of) of each row.
Forecast run_others(const World& world, const Forecast& forecast, const RunOptions& options) {
  std::vector<Plan> plans;
  for (const ForecastRow& row : forecast.rows)
    for (const Candidate& c : others_of(world.planner().comm, row, forecast.op))
      plans.push_back(plan_collective(world.planner(), forecast.op, row.plan.bytes, c.algorithm, c.protocol));
  Forecast others = run_plans(world, std::move(plans), options);
  others.op = forecast.op;
  return others;
}

}  // namespace

Forecast run_forecast(const World& world, const RunOptions& options) {
  const bool best = world.scenario().nccl.selection == Selection::best;
  const std::vector<std::int64_t> sizes = world.scenario().sizes();
  std::vector<Plan> plans;
  for (const std::int64_t bytes : sizes) plans.push_back(plan_workload(world, bytes));
  // With `best`, the alternatives are about four fifths of the work. The share is for the progress bar only.
  Forecast own = run_plans(world, std::move(plans), best ? part_of(options, 0, 0.2) : options);
  // Rows show the size that the user asked for; `plan.bytes` has the rounded one, and bandwidths are computed from it.
  for (std::size_t i = 0; i < sizes.size(); ++i) own.rows[i].bytes = sizes[i];
  if (!best) return own;
  Forecast others = run_others(world, own, part_of(options, 0.2, 1));
  return keep_fastest(world.planner().comm, std::move(others), std::move(own));
}

Forecast run_candidates(const Forecast& forecast, const RunOptions& options) {
  const World& world = forecast.world;
  Forecast weighed = run_others(world, forecast, options);
  // The rows of the forecast have been simulated already.
  weighed.rows.insert(weighed.rows.end(), forecast.rows.begin(), forecast.rows.end());
  return weighed;
}

std::optional<Selected> compare_selections(const ForecastRow& row, const Forecast& weighed) {
  const Choice nccl = row.nccl.value_or(Choice{row.algorithm, row.protocol, row.time});
  // Without candidates NCCL did not weigh estimates: it runs a fixed algorithm (sends and receives, copy engines), or a
  // kernel on symmetric memory.
  if (nccl.time == Seconds{} || row.plan.candidates.empty()) return std::nullopt;
  const auto best = std::min_element(weighed.rows.begin(), weighed.rows.end(),
                                     [](const ForecastRow& a, const ForecastRow& b) { return a.time < b.time; });
  if (best == weighed.rows.end() || best->time >= nccl.time) return Selected{nccl, nccl};
  return Selected{nccl, {best->algorithm, best->protocol, best->time}};
}

}  // namespace fabricast
