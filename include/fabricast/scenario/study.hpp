// A study: a scenario, and what of it is varied. `sweep:` names the axes, `objective:` what is wanted.
//
//   sweep:
//     fabric.kind: [fat_tree, rail_optimized]              a list of values of a key
//     cluster.nodes: {from: 32, to: 1024, factor: 2}       a range; `step:` adds instead
//     nics:                                                a bundle: values by name, each sets several keys
//       400G: {node.nics.rate: 400Gbps}
//       800G: {node.nics.rate: 800Gbps, fabric.switch.ports: 128}
//   objective: {minimize: cost, keep: "step_s <= 1.05 * best"}
//
// A row is one value of every axis: all combinations, the last axis varies fastest. A row is the file with the row's keys
// laid over it, so that what the file leaves out gets the defaults that fit the row.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// One value of an axis: what it is called, and the `--set` words that make it.
struct SweepValue {
  std::string label;
  std::vector<std::string> set;
};

struct SweepAxis {
  std::string name;  ///< the key, or the bundle's name
  std::vector<SweepValue> values;
};

/// What is wanted of rows, in names of metrics (`fabricast list metrics`). Conditions are of plan/condition.hpp.
struct ObjectiveSpec {
  std::string minimize, maximize;   ///< at most one of them
  std::vector<std::string> keep;    ///< conditions that a row is to fulfil
  std::vector<std::string> pareto;  ///< metrics of the front
};
void visit_fields(FieldVisitor& visit, ObjectiveSpec& spec);

struct Study {
  std::string file, text;
  std::string name;                    ///< of the scenario; may be empty
  std::vector<std::string> overrides;  ///< `--set` words for all rows; those of the row win
  std::vector<SweepAxis> axes;
  ObjectiveSpec objective;
  /// NCCL's version in rows that state none, where their GPUs imply unlike ones: the newest of those. Empty: each its own.
  std::string common_version;
  std::map<std::string, SourceSpan> places;  ///< of the keys of sweep and objective

  /// Gives a diagnostic about sweep or objective its place.
  void locate(Diagnostic& diagnostic) const;
};

/// More rows than this are a slip.
inline constexpr std::size_t most_rows = 1'000'000;

/// Reads `sweep:` and `objective:` of a scenario file.
/// \param axes  further ones, `path=[a, b]`; one of the file with that name gives way
/// \throws UserError with all that is wrong with them
Study read_study(const std::string& path, const std::vector<std::string>& overrides = {},
                 const std::vector<std::string>& axes = {});
/// The same from a text; `path` is for messages and for relative paths.
Study parse_study(const std::string& text, const std::string& path, const std::vector<std::string>& overrides = {},
                  const std::vector<std::string>& axes = {});

std::size_t row_count(const Study& study);
/// The value of each axis in a row, by number.
std::vector<std::size_t> choices_of(const Study& study, std::size_t row);
/// The `--set` words of a row, beside the study's own.
std::vector<std::string> words_of(const Study& study, std::size_t row);
/// \throws UserError if the row's keys do not fit together
Scenario scenario_of(const Study& study, std::size_t row);

}  // namespace fabricast
