// A row: one configuration of a study and its results. A row is a plain value that can be written to a file, a database
// or a message to another machine, and reads back as the same row.
//
// Numbers are rounded to 10 significant digits when a row is made (plan/evaluate.hpp), so that machines whose
// mathematical functions differ in the last bits make the same row. Values are in the units of reports rather than in
// SI units, since they are only shown and compared: us, GB/s, and for metrics the unit in metrics().
//
// Plain values and pure functions; safe to use concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// What became of a configuration.
enum class RowState {
  done,     ///< forecast: `values` and, for a collective, `sizes` are filled
  refused,  ///< the configuration is inconsistent or does not fit in memory; `why` is the reason
  not_run   ///< not yet forecast, because the work was interrupted
};
template <>
struct EnumNames<RowState> {
  static constexpr std::array<std::string_view, 3> names{"done", "refused", "not_run"};
};

/// The result for one size of a collective. Times are in us, rates in GB/s, rounded to 10 digits.
struct SizeResult {
  std::int64_t bytes = 0;                         ///< as requested; the tool may round it before it sends
  double time = 0, time_p95 = 0, time_worst = 0;  ///< median, p95 and maximum over samples
  double interval = 1;                            ///< 90 % interval: time / interval to time x interval; 1: unknown
  double bus_bandwidth = 0;                       ///< of `time`, as nccl-tests defines it
  std::string algorithm, protocol, bottleneck;    ///< names; the bottleneck is that of the median sample
};

/// A configuration with what was found for it.
struct SweepRow {
  std::size_t row = 0;  ///< number in the study, from 0
  RowState state = RowState::not_run;
  std::string why;  ///< the reason of a refused row: its first fault, with the hint
  std::vector<std::optional<double>>
      values;                     ///< indexed as metrics(); without a value: not of this row; empty unless done
  std::vector<SizeResult> sizes;  ///< of a collective, one for each size
};

/// The row as one line of JSON for `row_from_json`. This is the format of messages between ranks, not of reports: sizes
/// are lists without keys, so both ends must be the same version. Doubles are written so that they read back exactly.
/// \pre all numbers are finite
std::string row_to_json(const SweepRow& row);
/// Reads a row. \throws InternalError if the text was not written by `row_to_json` of the same version: it is not JSON,
/// a field is missing, or the number of metrics differs
SweepRow row_from_json(const std::string& text);

}  // namespace fabricast
