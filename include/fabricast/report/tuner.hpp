// `export tuner` and `export profile`: what NCCL should run on this cluster for each operation and size. The first is
// a table for NCCL's example tuner plugin [NCCL-tuner-9.2], which covers all sizes. The second is a profile for the
// plugin of this project (docs/tuner-plugin.md): only ranges of sizes where another choice is faster than NCCL's in the
// whole 90 % interval of the gain.
//
// For powers of two from 256 B to 16 GiB, all algorithms and protocols that NCCL considers are simulated, and the best
// rings and trees again with fewer channels. NCCL's choice is kept unless the fastest gains more than `least_gain`
// (docs/models/what-if.md).
//
// Sizes are in bytes. Results do not depend on the number of threads. The functions only read the World and may run
// concurrently on one World.
//
// Not covered: the number of threads, which stays NCCL's, and communicators of other shapes than all ranks or one node.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "fabricast/planner/tuner_rules.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// What runs for a call.
struct TunerChoice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;
  Seconds time;  ///< 0 if it is not simulated
};

/// One simulated size.
struct TunerPoint {
  std::int64_t bytes = 0;
  TunerChoice nccl;    ///< NCCL's own choice
  TunerChoice choice;  ///< that of the table
  TunerChoice plain;   ///< the choice among rings and trees; channels is 0 if neither can run
};

/// Sizes in [first, last] that share a choice. Sizes are counted as NCCL does: the larger of the send and the receive
/// buffer.
struct TunerRange {
  std::int64_t first = 0, last = 0;
  TunerChoice choice;              ///< that of its first point
  std::size_t begin = 0, end = 0;  ///< its points: [begin, end)
};

/// The table of one operation and communicator. The ranges are in ascending order and cover all sizes from 0 to
/// 2^63 - 1 without gaps.
struct TunerTable {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t nodes = 1, ranks = 2;  ///< of the communicator
  std::vector<TunerPoint> points;
  std::vector<TunerRange> ranges;
  /// Ranges with rings and trees only, for data types and operators that the other algorithms do not support. Empty if
  /// neither can run.
  std::vector<TunerRange> plain;
  TunerChoice otherwise;  ///< for calls that no range serves
  /// Whether all choices are rings or trees.
  bool only_plain() const;
};

/// The tables of the five operations that NCCL asks a tuner about.
struct TunerTables {
  World world;                       ///< what is tuned
  std::vector<TunerTable> job;       ///< for the communicator of all ranks
  World node;                        ///< one NCCL node of it, without faults; empty with one node or one GPU each
  std::vector<TunerTable> one_node;  ///< for the communicator of `node`; empty like it
};

/// Simulates the sizes and makes the tables.
/// \throws UserError if the scenario does not use the flow engine; Interrupted on Ctrl-C
TunerTables tuner_tables(const World& world, const RunOptions& options = {});

/// The configuration file of the example plugin.
/// \param first  rules that come before the tables, e.g. those for a step
std::string tuner_csv(const TunerTables& tables, const std::vector<TunerRules>& first = {});

/// The rules of all tables: sizes at which another choice is faster than NCCL's in the whole 90 % interval of the gain.
/// A rule's gain is that of its least certain size. What is not known of a gain is what the two forecasts do not have in
/// common: errors of one site are correlated (residual/residual.hpp), more so for equal algorithms and protocols.
/// \param site  measured rows of the site, which narrow the intervals
/// \throws UserError if NCCL's version is not stated, because its own choice is then unknown; Interrupted on Ctrl-C
std::vector<TunerRules> tuner_rules(const TunerTables& tables, const SiteResiduals& site,
                                    const RunOptions& options = {});

/// \throws UserError if the scenario does not state one version of NCCL
void require_stated_version(const World& world);

/// Rules for the communicators of a scenario as the content of a profile (docs/formats.md#tuner-profile).
std::string tuner_profile(const World& world, const std::vector<TunerRules>& rules);

}  // namespace fabricast
