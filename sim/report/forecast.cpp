#include "fabricast/report/forecast.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "fabricast/core/stop.hpp"
#include "fabricast/protocol/costs.hpp"

namespace fabricast {

double harness_time(const HarnessSpec& harness, const Communicator& comm, const Plan& plan, const CollectiveResult& r) {
  const double call = r.launch + r.makespan;
  if (harness.tool == Tool::isolated) return call;
  const Architecture& gpu = comm.node.architecture;
  double time = call;
  // Broadcasts and reduces issued back to back overlap: a rank goes on to the next call as soon as its own part is
  // done, so the pace is that of the busiest station, and the way through the chain is paid once per run.
  const bool overlaps = plan.op == CollectiveOp::broadcast || plan.op == CollectiveOp::reduce;
  if (overlaps && harness.tool != Tool::host_timed)
    time = std::min(call, gpu.issue_gap.us().value + channel_launch(comm, plan) + r.work +
                              std::max(0.0, r.makespan - r.work) / harness.iterations);
  const int per_thread = harness.ranks_per_process / std::max(1, harness.threads);
  if (per_thread > 1) time = std::max(time, per_thread * gpu.issue_per_gpu.us().value);
  if (harness.tool == Tool::pytorch) time = std::max(time, comm.node.software.pytorch.us().value);
  if (harness.tool == Tool::host_timed) time += comm.node.software.host_timed.us().value;
  return time;
}

namespace {

/// The value at a fraction of a sorted list, the nearest there is.
std::size_t at_fraction(std::size_t size, double fraction) {
  return std::min(size - 1, static_cast<std::size_t>(fraction * static_cast<double>(size)));
}

struct Cell {
  double time = 0;
  CollectiveResult result;
};

/// Runs the rows' plans over all draws, and fills in what comes out.
void simulate(const World& world, const RunOptions& options, Forecast& forecast) {
  const Scenario& s = world.scenario;
  const Communicator& comm = world.planner.comm;
  // A task is one draw with all sizes: they share its loads. With one draw, sizes are shared out instead.
  const auto draws = static_cast<std::size_t>(world.draws.count), sizes = forecast.rows.size();
  std::vector<Cell> cells(draws * sizes);
  const std::size_t parts = draws > 1 ? 1 : std::min<std::size_t>(sizes, 8);
  std::atomic<std::size_t> next{0}, done{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failed_task = SIZE_MAX;
  const auto work = [&] {
    while (true) {
      const std::size_t task = next++;
      if (task >= draws * parts) return;
      try {
        const std::size_t draw = task / parts, part = task % parts;
        const auto engine = make_engine(s.network.engine, world.setup, world.draws.first_seed + draw);
        for (std::size_t i = sizes * part / parts; i < sizes * (part + 1) / parts; ++i) {
          stop_if_requested();
          Cell& cell = cells[draw * sizes + i];
          cell.result = engine->run(forecast.rows[i].plan);
          cell.time = harness_time(s.workload.harness, comm, forecast.rows[i].plan, cell.result);
          if (options.progress) {
            const std::scoped_lock lock(mutex);
            options.progress(static_cast<double>(++done) / static_cast<double>(cells.size()));
          }
        }
      } catch (...) {
        // The first fault in task order is reported, whichever thread met one first.
        const std::scoped_lock lock(mutex);
        if (task < failed_task) failed_task = task, failure = std::current_exception();
        next = draws * parts;
      }
    }
  };
  const std::size_t wanted = options.threads > 0 ? static_cast<std::size_t>(options.threads)
                                                 : std::max(1U, std::thread::hardware_concurrency());
  // The chunk engine forks, which goes with one thread only.
  const std::size_t threads = s.network.engine == EngineKind::chunk ? 1 : std::min(wanted, draws * parts);
  std::vector<std::thread> pool;
  for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  if (failure) std::rethrow_exception(failure);

  for (std::size_t i = 0; i < sizes; ++i) {
    ForecastRow& row = forecast.rows[i];
    std::vector<std::size_t> order(draws);
    for (std::size_t d = 0; d < draws; ++d) order[d] = d;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return cells[a * sizes + i].time < cells[b * sizes + i].time;
    });
    const auto time_at = [&](double fraction) { return cells[order[at_fraction(draws, fraction)] * sizes + i].time; };
    row.time = time_at(0.5), row.time_p5 = time_at(0.05), row.time_p95 = time_at(0.95), row.time_worst = time_at(1);
    for (std::size_t d = 0; d < draws; ++d)
      forecast.fingerprint = fold(forecast.fingerprint, cells[d * sizes + i].result.fingerprint);
    row.result = std::move(cells[order[at_fraction(draws, 0.5)] * sizes + i].result);
  }
}

Forecast empty_forecast(const World& world) {
  Forecast forecast;
  forecast.ranks = world.planner.comm.ranks(), forecast.op = world.scenario.workload.collective;
  forecast.draws = world.draws.count;
  return forecast;
}

ForecastRow row_of(Plan plan, std::int64_t bytes) {
  ForecastRow row;
  row.bytes = bytes, row.plan = std::move(plan);
  row.algorithm = row.plan.algorithm, row.protocol = row.plan.protocol, row.channels = row.plan.channels;
  return row;
}

}  // namespace

Forecast run_forecast(const World& world, const RunOptions& options) {
  Forecast forecast = empty_forecast(world);
  for (const std::int64_t bytes : world.scenario.sizes())
    forecast.rows.push_back(row_of(plan_collective(world.planner, forecast.op, bytes), bytes));
  simulate(world, options, forecast);
  return forecast;
}

Forecast run_candidates(const World& world, const ForecastRow& row, const RunOptions& options) {
  Forecast forecast = empty_forecast(world);
  for (const Candidate& c : row.plan.candidates)
    if (is_simulated(world.planner.comm, forecast.op, c.algorithm, c.protocol) && (c.algorithm != row.algorithm || c.protocol != row.protocol))
      forecast.rows.push_back(
          row_of(plan_collective(world.planner, forecast.op, row.bytes, c.algorithm, c.protocol), row.bytes));
  simulate(world, options, forecast);
  forecast.rows.push_back(row);  // which has been simulated
  return forecast;
}

}  // namespace fabricast
