// A store keeps rows on disk as soon as they are done: a SQLite file that other tools can query, and from which
// interrupted work can continue.
//
//   study(key, value)   the identity of the study: scenario, --set words, axes, version, settings
//   rows(row, state, why, AXIS..., METRIC..., kept, pareto, place)   a line per configuration; axes and metrics by name
//   sizes(row, place, bytes, time_us, ...)                           of collectives, a line per size
//
// `kept`, `pareto` and `place` are filled in at the end; `place` of rows counts from 1 for the best. A finished file
// has the same bytes whatever the order in which rows were done. Files that the scenario names, such as profiles, are
// not part of the identity.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabricast/plan/decision.hpp"

namespace fabricast {

/// The file of one study. Not thread-safe. A lock keeps other processes from opening it with `open_store`; they can
/// still read it. Member functions throw UserError if the file cannot be read or written.
class RowStore {
 public:
  virtual ~RowStore() = default;
  /// The rows that earlier work has stored, in order of their numbers.
  virtual std::vector<SweepRow> rows() = 0;
  /// Stores a row immediately. \pre the file does not have the row yet
  virtual void put(const SweepRow& row) = 0;
  /// Adds the decision and rewrites the file in its final form. The store must not be used afterwards.
  virtual void finish(const Decision& decision) = 0;
};

/// Opens or creates the file of a study. The study must outlive the store.
/// \param settings  what the rows depend on besides the study; a file with other settings is refused
/// \param resume    continue with the file if it exists; otherwise an existing file that is not empty is an error
/// \throws UserError if the file exists without `resume`, holds another study, is in use, or cannot be written
std::unique_ptr<RowStore> open_store(const std::string& file, const Study& study, const std::string& settings,
                                     bool resume);

}  // namespace fabricast
