// All rows of a study, on the threads of this process or on the ranks of an MPI job.
#pragma once

#include <functional>
#include <vector>

#include "fabricast/plan/evaluate.hpp"
#include "fabricast/plan/ranks.hpp"

namespace fabricast {

struct SweepOptions {
  RunOptions run;                            ///< threads of a process; progress over all rows
  bool intervals = true, risk = false;       ///< of EvaluateOptions
  const MeasuredSite* site = nullptr;        ///< likewise
  std::vector<SweepRow> have;                ///< rows that are there already
  std::function<void(const SweepRow&)> put;  ///< called with each row that is done, from one thread at a time
};

struct SweepResult {
  std::vector<SweepRow> rows;  ///< all of the study, in order
  bool interrupted = false;    ///< some are not run
};

/// All rows of a study, those that are there and the others as not run.
SweepResult rows_to_do(const Study& study, const std::vector<SweepRow>& have);

/// Rows run side by side, each on one thread; fewer rows than threads share them. The same rows whatever the number.
SweepResult run_sweep(const Study& study, const SweepOptions& options);

/// The same on all ranks of a job: rank 0 hands out rows, runs some itself and has the result; the others work until it
/// says that all is done, and have none. A row whose rank falls silent is handed to another in the end.
SweepResult run_sweep_on_ranks(const Study& study, const SweepOptions& options, Ranks& ranks);

}  // namespace fabricast
