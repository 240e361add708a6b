// Forecasts the rows of a study on the threads of this process (plan/sweep.hpp). sweep_ranks.cpp does the same over
// MPI.
#include "fabricast/plan/sweep.hpp"

#include <algorithm>
#include <mutex>

#include "fabricast/core/parallel.hpp"

namespace fabricast {

SweepResult rows_to_do(const Study& study, const std::vector<SweepRow>& have) {
  SweepResult result;
  result.rows.resize(row_count(study));
  for (std::size_t i = 0; i < result.rows.size(); ++i) result.rows[i].row = i;
  for (const SweepRow& row : have) result.rows[row.row] = row;
  return result;
}

SweepResult run_sweep(const Study& study, const SweepOptions& options) {
  SweepResult result = rows_to_do(study, options.have);
  std::vector<std::size_t> wanted;
  for (const SweepRow& row : result.rows)
    if (row.state == RowState::not_run) wanted.push_back(row.row);

  const std::size_t threads = thread_count(options.run.threads);
  EvaluateOptions alone;
  alone.intervals = options.intervals;
  alone.risk = options.risk;
  alone.site = options.site;
  // Rows run in parallel, each on one thread. Only a study of fewer rows than threads gives a row several.
  alone.threads = static_cast<int>(std::max<std::size_t>(1, threads / std::max<std::size_t>(1, wanted.size())));
  std::mutex mutex;
  std::size_t done = 0;
  try {
    in_parallel(wanted.size(), threads, [&](std::size_t i) {
      SweepRow row = evaluate(study, wanted[i], alone);
      const std::scoped_lock lock(mutex);
      // Stored before it is counted, so that rows reported as done are on disk.
      if (options.put) options.put(row);
      result.rows[wanted[i]] = std::move(row);
      if (options.run.progress) options.run.progress(static_cast<double>(++done) / static_cast<double>(wanted.size()));
    });
  } catch (const Interrupted&) { result.interrupted = true; }
  return result;
}

}  // namespace fabricast
