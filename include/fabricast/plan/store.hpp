// Rows on disk as they are done: a SQLite file that other tools can query, and that interrupted work goes on from.
//
//   study(key, value)   what the rows are of
//   rows(row, state, why, AXIS..., METRIC..., kept, pareto, place)   a line per configuration; axes and metrics by name
//   sizes(row, bytes, time_us, ...)                                  of collectives, a line per size
//
// A finished file has the same bytes whatever the order in which rows were done.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabricast/plan/decision.hpp"

namespace fabricast {

class RowStore {
 public:
  virtual ~RowStore() = default;
  /// Rows that earlier work has done, in order.
  virtual std::vector<SweepRow> rows() = 0;
  /// Keeps a row, at once. Not from several threads.
  virtual void put(const SweepRow& row) = 0;
  /// Adds what was decided, and puts the file in order. The store is not to be used any more.
  virtual void finish(const Decision& decision) = 0;
};

/// \param resume  whether to go on with a file that is there
/// \param settings  what else rows depend on: a file of others is not gone on with
/// \throws UserError if the file is there and is not to be gone on with, is of another study, or can not be written
std::unique_ptr<RowStore> open_store(const std::string& file, const Study& study, const std::string& settings,
                                     bool resume);

}  // namespace fabricast
