// Serving as people publish it, in tables: rows of a CSV file, and the scenario that each row is.
//
// A row is one figure of one configuration: ms per token, ms to the first token, tokens per second, the ms of a batch or
// the us of an all-reduce. Rows of one configuration have the same scenario, which is forecast once. The mapping
// (calibrate/published/serving_*.cpp: systems, engines, precisions, splits, requests) says what each row had to assume,
// and which key is missing where there is no scenario. What was measured is a fact of the table; nothing here fits.
//
// Not said: kernels of the engines' own for collectives, speculation, prefix caches, requests that arrive at a rate.
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
  SourceSpan where;
  std::string source, system, model, engine, version, precision;
  int tensor = 0, pipeline = 0, expert = 0, data = 0;
  std::string phase;
  int input = 0, output = 0;  ///< tokens; of a collective `input` is bytes
  std::string batch;          ///< a number, with words: `896 per replica (max)`
  std::string metric;
  double value = 0;
  std::string confidence, note;
};

std::string shipped_serving_path();
/// \throws UserError with file, line and column of all that is damaged, the first 20 faults
std::vector<ServingRow> read_serving_rows(const std::string& path);
/// The same from a text; `path` is for messages.
std::vector<ServingRow> parse_serving_rows(const std::string& text, const std::string& path);

/// What a row is the figure of. Rates are tokens or requests per second, of all GPUs or of one.
enum class ServingMetric {
  tpot_ms,         ///< between two tokens of a request, mean
  itl_p50_ms,      ///< between two tokens, the median over all tokens
  ttft_ms,         ///< to the first token, mean
  latency_ms,      ///< of a static batch, from its prompts to its last token
  out_tok_s,       ///< tokens of output
  out_tok_s_gpu,   ///< the same of a GPU
  in_tok_s_gpu,    ///< tokens of prompts, of a GPU
  req_s,           ///< requests
  kv_transfer_ms,  ///< of a request's cache, to the GPUs that decode
  allreduce_us     ///< of a single all-reduce
};
template <>
struct EnumNames<ServingMetric> {
  static constexpr std::array<std::string_view, 10> names{
      "tpot_ms",       "itl_p50_ms",   "ttft_ms", "latency_ms",     "out_tok_s",
      "out_tok_s_gpu", "in_tok_s_gpu", "req_s",   "kv_transfer_ms", "allreduce_us"};
};
/// Whether more of it is faster.
constexpr bool is_rate(ServingMetric m) { return m >= ServingMetric::out_tok_s && m <= ServingMetric::req_s; }

/// A row with the scenario that it is.
struct MappedServing : Mapping {
  ServingRow row;
  bool apart = false;  ///< prompts have GPUs of their own
  ServingMetric metric = ServingMetric::tpot_ms;
};

/// Of one row; `id` is left empty.
MappedServing map_serving_row(const ServingRow& row);
std::vector<MappedServing> map_serving_rows(const std::vector<ServingRow>& rows);

}  // namespace fabricast
