// Forecasts all rows of a study, on the threads of this process or on the ranks of an MPI job.
//
// The rows do not depend on the number of threads or ranks. Ctrl-C ends a sweep early; rows that are done are kept.
#pragma once

#include <functional>
#include <vector>

#include "fabricast/plan/evaluate.hpp"
#include "fabricast/plan/ranks.hpp"

namespace fabricast {

/// How to run a sweep.
struct SweepOptions {
  RunOptions run;                            ///< threads of this process; progress over all rows
  bool intervals = true, risk = false;       ///< as in EvaluateOptions
  const MeasuredSite* site = nullptr;        ///< as in EvaluateOptions
  std::vector<SweepRow> have;                ///< rows that are known already and are not forecast again
  std::function<void(const SweepRow&)> put;  ///< called with each done row, by one thread at a time; may be empty
};

/// The rows of a study, as far as they were run.
struct SweepResult {
  std::vector<SweepRow> rows;  ///< all rows of the study, in order
  bool interrupted = false;    ///< true: some rows are not run
};

/// All rows of a study: the known ones, and the others as not run.
SweepResult rows_to_do(const Study& study, const std::vector<SweepRow>& have);

/// Forecasts rows concurrently, one thread for each. If there are fewer rows than threads, each row gets several
/// threads. On Ctrl-C the result is marked as interrupted. \throws what `put` throws
SweepResult run_sweep(const Study& study, const SweepOptions& options);

/// Forecasts rows on all ranks of a job. Rank 0 distributes rows, forecasts some itself, and returns the result. The
/// other ranks work until rank 0 reports that all rows are done, and return an empty result. When no new row is left,
/// idle ranks repeat the rows that are still outstanding, so a rank that has died does not hold up the sweep.
/// \pre called once on every rank, with the same study and options
SweepResult run_sweep_on_ranks(const Study& study, const SweepOptions& options, Ranks& ranks);

}  // namespace fabricast
