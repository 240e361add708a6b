// A configuration of a study and what came out. A row is a plain value that survives being written down: in a file, in a
// database, in a message from another machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

enum class RowState {
  done,
  refused,  ///< the configuration does not fit together, or not in memory; `why` says how
  not_run   ///< yet: the work was interrupted
};
template <>
struct EnumNames<RowState> {
  static constexpr std::array<std::string_view, 3> names{"done", "refused", "not_run"};
};

/// One size of a collective. Times in us, rates in GB/s.
struct SizeResult {
  std::int64_t bytes = 0;
  double time = 0, time_p95 = 0, time_worst = 0;
  double interval = 1;  ///< 90 %: divided and multiplied by it
  double bus_bandwidth = 0;
  std::string algorithm, protocol, bottleneck;
};

struct SweepRow {
  std::size_t row = 0;  ///< number in the study
  RowState state = RowState::not_run;
  std::string why;                            ///< a refused row is refused
  std::vector<std::optional<double>> values;  ///< by metrics(); empty unless done
  std::vector<SizeResult> sizes;              ///< of a collective
};

/// One line of JSON, which reads back to the same row.
std::string row_to_json(const SweepRow& row);
/// \throws InternalError if the text is not by row_to_json
SweepRow row_from_json(const std::string& text);

}  // namespace fabricast
