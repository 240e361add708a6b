// Training steps as people publish them, in tables: rows of a CSV file, and the scenario that each row is.
//
// A row says what its source says, in the source's words: `DGX-H100`, `LLAMA3_70B`, `FP8-MX`. The mapping knows what
// those words are (calibrate/published/: systems, models, precisions, software, recomputation) and makes a scenario of
// the row. What the row leaves open is assumed, and each assumption says its key, its value and why. A setting that a
// scenario has no key for is `unsaid` where the forecast is then of the software's usual setting, and `missing` where
// there is no forecast without it: then the row cannot be said.
//
// Seconds are those of a step, tokens/s those of a GPU. What a step took is a fact of the table; nothing here fits.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/published_mapping.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

/// One row as published. 0 and empty: not stated.
struct PublishedRow {
  SourceSpan where;
  std::string source, system, model;
  int gpus = 0;
  std::string precision;
  int global_batch = 0, micro_batch = 0, sequence = 0;  ///< sequences, sequences, tokens
  std::string fsdp;                                     ///< 0, 1, a group's size, or ZeRO1(8)
  int tensor = 0, pipeline = 0, context = 0, interleave = 0, expert = 0, data = 0;
  std::string recompute;
  double step_seconds = 0, tokens_per_second = 0;
  double tflops = 0, mfu = 0;  ///< of a GPU, percent: facts that no forecast needs
  std::string note;            ///< `basis; conf=..; complete=..; sw=software; net=network; remarks`
};

std::string shipped_training_steps_path();
/// \throws UserError with file, line and column of all that is damaged, the first 20 faults
std::vector<PublishedRow> read_published_rows(const std::string& path);
/// The same from a text; `path` is for messages.
std::vector<PublishedRow> parse_published_rows(const std::string& text, const std::string& path);

/// A row with the scenario that it is.
struct MappedRow : Mapping {
  PublishedRow row;
  double seconds = 0;  ///< as published, or from tokens/s; 0: neither is stated
};

/// Of one row; `id` is left empty.
MappedRow map_published_row(const PublishedRow& row);
std::vector<MappedRow> map_published_rows(const std::vector<PublishedRow>& rows);

}  // namespace fabricast
