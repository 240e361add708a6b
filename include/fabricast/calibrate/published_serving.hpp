// Published measurements of serving: rows of a CSV file, and the scenario of each row
// (docs/calibrate/published-serving.md).
//
// A row is one figure of one configuration: ms per token, ms to the first token, tokens per second, the ms of a batch
// or the us of an all-reduce. Rows of one configuration have the same scenario, which is forecast once. The mapping
// (calibrate/published/serving_*.cpp: systems, engines, numbers, split, requests, collective) knows the words of the
// sources; see published_mapping.hpp for what it assumes. Measured values are facts of the table; nothing here fits.
//
// Not expressible: collective kernels of the engines other than all-reduce, speculation, prefix caches, requests that
// arrive at a rate.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/published_mapping.hpp"
#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

/// One row as published. 0 and empty: not stated.
struct ServingRow {
  SourceSpan where;  ///< its line in the file
  std::string source, system, model, engine, version, precision;
  int tensor = 0, pipeline = 0, expert = 0, data = 0;
  std::string phase;
  int input = 0, output = 0;  ///< tokens; for a collective `input` is in bytes
  std::string batch;          ///< a number, perhaps with words: `896 per replica (max)`
  std::string metric;         ///< a name of ServingMetric
  double value = 0;           ///< in the unit of the metric
  std::string confidence, note;
};

/// Path of the shipped table, `calibrate/data/serving.csv`.
std::string shipped_serving_path();
/// Reads a table.
/// \throws UserError with file, line and column of the first 20 faults, or if the file cannot be read
std::vector<ServingRow> read_serving_rows(const std::string& path);
/// As read_serving_rows, from a text; `path` appears in messages.
std::vector<ServingRow> parse_serving_rows(const std::string& text, const std::string& path);

/// The quantity that a row measures. Rates are in tokens or requests per second, of all GPUs or of one.
enum class ServingMetric {
  tpot_ms,         ///< time between two tokens of a request, mean
  itl_p50_ms,      ///< time between two tokens, median over all tokens
  ttft_ms,         ///< time to the first token, mean
  latency_ms,      ///< of a static batch, from its prompts to its last token
  out_tok_s,       ///< output tokens of all GPUs
  out_tok_s_gpu,   ///< output tokens of one GPU
  in_tok_s_gpu,    ///< prompt tokens of one GPU
  req_s,           ///< requests of all GPUs
  kv_transfer_ms,  ///< KV-cache transfer of a request to the GPUs that decode
  allreduce_us     ///< a single all-reduce
};
template <>
struct EnumNames<ServingMetric> {
  static constexpr std::array<std::string_view, 10> names{
      "tpot_ms",       "itl_p50_ms",   "ttft_ms", "latency_ms",     "out_tok_s",
      "out_tok_s_gpu", "in_tok_s_gpu", "req_s",   "kv_transfer_ms", "allreduce_us"};
};
/// Whether a larger value is better; a larger time is worse.
constexpr bool is_rate(ServingMetric m) { return m >= ServingMetric::out_tok_s && m <= ServingMetric::req_s; }

/// A row with its scenario.
struct MappedServing : Mapping {
  ServingRow row;
  bool apart = false;  ///< whether prefill runs on GPUs of its own (disaggregated serving)
  ServingMetric metric = ServingMetric::tpot_ms;
};

/// Maps one row. `id` is left empty.
MappedServing map_serving_row(const ServingRow& row);
/// Maps all rows, in order, and numbers them by source.
std::vector<MappedServing> map_serving_rows(const std::vector<ServingRow>& rows);

}  // namespace fabricast
