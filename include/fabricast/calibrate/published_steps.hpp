// Published training steps: rows of a CSV file, and the scenario of each row (docs/calibrate/published-steps.md).
//
// A row uses the words of its source: `DGX-H100`, `LLAMA3_70B`, `FP8-MX`. The mapping (calibrate/published/: systems,
// models, precisions, software, recompute, parallel, settings) knows these words and makes a scenario of the row; see
// published_mapping.hpp for what it assumes. Names of `fabricast list nodes`, `list models` and `list stacks` are known
// without an entry.
//
// Rates are in tokens/s of one GPU. Measured values are facts of the table; nothing here fits.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/published_mapping.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

/// One row as published. 0 and empty: not stated.
struct PublishedRow {
  SourceSpan where;  ///< its line in the file
  std::string source, system, model;
  int gpus = 0;
  std::string precision;
  int global_batch = 0, micro_batch = 0, sequence = 0;  ///< sequences, sequences, tokens
  std::string fsdp;                                     ///< 0, 1 (all replicas), the size of a group, or ZeRO1(8)
  int tensor = 0, pipeline = 0, context = 0, interleave = 0, expert = 0, data = 0;
  std::string recompute;
  double step_seconds = 0, tokens_per_second = 0;
  double tflops = 0, mfu = 0;  ///< of a GPU; percent. No forecast needs them.
  std::string note;            ///< `basis; conf=..; complete=..; sw=software; net=network; remarks`
};

/// Path of the shipped table, `calibrate/data/training_steps.csv`.
std::string shipped_training_steps_path();
/// Reads a table.
/// \throws UserError with file, line and column of the first 20 faults, or if the file cannot be read
std::vector<PublishedRow> read_published_rows(const std::string& path);
/// As read_published_rows, from a text; `path` appears in messages.
std::vector<PublishedRow> parse_published_rows(const std::string& text, const std::string& path);

/// A row with its scenario.
struct MappedRow : Mapping {
  PublishedRow row;
  Seconds time;  ///< step time as published, or computed from tokens/s; 0: neither is stated
};

/// Maps one row. `id` is left empty.
MappedRow map_published_row(const PublishedRow& row);
/// Maps all rows, in order, and numbers them by source.
std::vector<MappedRow> map_published_rows(const std::vector<PublishedRow>& rows);

}  // namespace fabricast
