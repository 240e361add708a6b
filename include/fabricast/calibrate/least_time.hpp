// The least time that hardware allows for a collective, and measured rows that are below it.
//
// A time below it was not measured on this cluster: its unit is another, or the cluster, the operation or the number of
// ranks. Such a row says nothing about health, and a forecast that is conditioned on it is wrong at all sizes. `check`
// gives no verdict then, and forecasts refuse it.
//
// The bound engine (docs/models/bound-engine.md) is not used for this: it bounds the one schedule that NCCL is expected
// to choose, with fitted rates, and another algorithm may be faster. Here only bytes and line rates of data sheets
// count, which no algorithm can avoid.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/report/interval.hpp"

namespace fabricast {

/// The least time of a collective, and what sets it.
struct LeastTime {
  Seconds time;
  std::string limit;  ///< for messages, such as `NICs of a host: 400GB/s`
};
/// The least time of the scenario's collective at a size, counted as nccl-tests does: the bytes that must leave or
/// enter hosts and GPUs over the line rates of their NICs and NVLinks, whatever the algorithm. Reductions in switches
/// are taken into account where the hardware has them. Zero for one rank.
LeastTime least_time(const Scenario& scenario, Bytes bytes);

/// A measured row that is faster than the hardware of its scenario can be.
struct ImpossibleRow {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0, ranks = 0;
  Seconds measured;
  LeastTime least;
  std::string from;  ///< file or key
  int line = 0;      ///< in the file; 0: unknown
};
/// The rows that take less than nine tenths of their least time. Telemetry of jobs is not judged: its times begin when
/// the last rank joins, and what the others sent before is not in them.
std::vector<ImpossibleRow> impossible_rows(const std::vector<MeasuredSeries>& measured);
/// What may be wrong with such rows, as a question to the user.
std::string impossible_advice(const std::vector<ImpossibleRow>& rows);
/// One row as a sentence without its place.
std::string impossible_text(const ImpossibleRow& row);

/// \param scenario  whose `measured:` some rows may be, for the place of their keys
/// \throws UserError with the place of each impossible row, if there are any
void refuse_impossible(const std::vector<MeasuredSeries>& measured, const Scenario& scenario);

}  // namespace fabricast
