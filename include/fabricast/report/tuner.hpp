// A table for NCCL's example tuner plugin: by operation and size, what to run on this cluster [NCCL-tuner-9.2].
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"

namespace fabricast {

struct TunerChoice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;
  double time = 0;  ///< s; 0 if it is not simulated
};

/// One size that was simulated.
struct TunerPoint {
  std::int64_t bytes = 0;
  TunerChoice nccl;    ///< what NCCL would run
  TunerChoice choice;  ///< what the table says
  TunerChoice plain;   ///< the same among rings and trees; channels is 0 where there are none
};

/// Sizes [first, last] as NCCL counts them: the larger of what is sent and received.
struct TunerRange {
  std::int64_t first = 0, last = 0;
  TunerChoice choice;              ///< of its first point
  std::size_t begin = 0, end = 0;  ///< its points
};

/// Of one operation. The ranges cover all sizes from 0 to 2^63 - 1 in order and without gaps.
struct TunerTable {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t nodes = 1, ranks = 2;  ///< of the communicator
  std::vector<TunerPoint> points;
  std::vector<TunerRange> ranges;
  /// Rings and trees alone: the others work for some types and operators only. Empty where none may run.
  std::vector<TunerRange> plain;
  TunerChoice otherwise;  ///< for calls that the ranges do not serve
  bool only_plain() const;
};

/// By operation, of the five that NCCL asks a tuner about.
struct TunerTables {
  std::vector<TunerTable> job;       ///< the communicator of all ranks
  std::vector<TunerTable> one_node;  ///< of the ranks of one NCCL node, if there are several of both
};

/// NCCL's choice stays where the fastest gains under `least_gain`.
/// \throws UserError if the scenario is not for the flow engine
TunerTables tuner_tables(const World& world, const RunOptions& options = {});

/// The plugin's file.
std::string tuner_csv(const World& world, const TunerTables& tables);

}  // namespace fabricast
