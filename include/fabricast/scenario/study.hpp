// A study: a scenario with axes to vary (`sweep:`) and a goal (`objective:`). `fabricast plan` runs it.
//
//   sweep:
//     fabric.kind: [fat_tree, rail_optimized]              a list of values of a key
//     cluster.nodes: {from: 32, to: 1024, factor: 2}       a range; `step:` adds instead
//     nics:                                                a bundle: named values that set several keys each
//       400G: {node.nics.rate: 400Gbps}
//       800G: {node.nics.rate: 800Gbps, fabric.switch.ports: 128}
//   objective: {minimize: cost, keep: "step_s <= 1.05 * best"}
//
// A row is one combination of the values of all axes. Rows are numbered from 0, and the last axis varies fastest. The
// scenario of a row is the file with the row's keys set, as by `--set`. Keys that neither gives get the defaults that
// fit the row, for example the network rate of the row's GPU.
//
// A Study is immutable after reading; its functions are safe to call concurrently.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// One value of an axis: its label in reports, and the `--set` words that set it.
struct SweepValue {
  std::string label;
  std::vector<std::string> set;
};

/// One axis of a sweep.
struct SweepAxis {
  std::string name;  ///< the key, or the name of the bundle
  std::vector<SweepValue> values;
};

/// The section `objective`, in names of metrics (`fabricast list metrics`).
struct ObjectiveSpec {
  std::string minimize, maximize;   ///< the metric to optimize; at most one of them is given
  std::vector<std::string> keep;    ///< conditions that rows must satisfy (plan/condition.hpp)
  std::vector<std::string> pareto;  ///< metrics of the Pareto front
};
/// The keys of the section (core/fields.hpp). Names of metrics are checked by plan/decision.hpp.
void visit_fields(FieldVisitor& visit, ObjectiveSpec& spec);

/// A study as read from a file and the command line.
struct Study {
  std::string file, text;
  std::string name;                    ///< of the scenario; may be empty
  std::vector<std::string> overrides;  ///< `--set` words for all rows; the row's own words override them
  std::vector<SweepAxis> axes;
  ObjectiveSpec objective;
  /// The NCCL version of rows that do not state one, if their GPUs imply different versions: the newest of these, so
  /// that rows differ only by their axes. Empty if each row has the version that its GPU implies.
  std::string common_version;
  std::map<std::string, SourceSpan> places;  ///< positions of the keys of sweep and objective

  /// Sets the position of a diagnostic about sweep or objective.
  void locate(Diagnostic& diagnostic) const;
  /// The same for a fault of a row: `--set` words that the sweep adds are replaced by their place in the sweep, as
  /// nobody typed them.
  void locate_in_row(Diagnostic& diagnostic, std::size_t row) const;
};

/// The largest number of rows; a larger study is a mistake.
inline constexpr std::size_t most_rows = 1'000'000;

/// Reads the sections `sweep` and `objective` of a scenario file.
/// \param overrides  `--set` words
/// \param axes       further axes, `path=[a, b]`; each replaces an axis of the file with the same name
/// \throws UserError with all errors of the two sections, or if there are more than `most_rows` rows
Study read_study(const std::string& path, const std::vector<std::string>& overrides = {},
                 const std::vector<std::string>& axes = {});
/// The same from a text.
/// \param path  name of the file, for messages and for relative paths
Study parse_study(const std::string& text, const std::string& path, const std::vector<std::string>& overrides = {},
                  const std::vector<std::string>& axes = {});

/// The number of rows, capped at most_rows + 1; 1 without axes.
std::size_t row_count(const Study& study);
/// For each axis, the index of its value in a row.
std::vector<std::size_t> choices_of(const Study& study, std::size_t row);
/// The `--set` words of a row, without those of the study.
std::vector<std::string> words_of(const Study& study, std::size_t row);
/// The scenario of a row.
/// \throws UserError if its keys are not consistent
Scenario scenario_of(const Study& study, std::size_t row);

}  // namespace fabricast
