// The section `measured` of a scenario: measurements of the site.
//
//   measured: {all_reduce: {8B: 31us, 8GiB: 390GB/s}, alltoall: {1GiB: 41ms}}
//
// Each collective has a time or a bus bandwidth for each size, as nccl-tests counts them. The measurements are of the
// scenario's own hosts and NCCL. Forecasts are conditioned on them (report/interval.hpp).
//
// Pure functions; safe to call concurrently on different objects.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/fields.hpp"

namespace fabricast {

/// The section as it is written; `measured_values` parses it.
struct MeasuredSection {
  /// By collective: a size as text, and its time or rate as text.
  std::array<std::map<std::string, std::string>, EnumNames<CollectiveOp>::names.size()> texts;
};
/// One map for each collective; texts are not parsed here.
void visit_fields(FieldVisitor& visit, MeasuredSection& section);

/// A measured size. Exactly one of `time` and `bus_bandwidth` is above 0.
struct MeasuredValue {
  Bytes bytes;
  Seconds time;
  BytesPerSecond bus_bandwidth;
};

/// The measurements of one collective, by ascending size.
/// \throws UserError with a path such as `measured.all_reduce.8B` if a size, time or rate is invalid, or if two texts
///          mean the same size
std::vector<MeasuredValue> measured_values(const MeasuredSection& section, CollectiveOp op);

}  // namespace fabricast
