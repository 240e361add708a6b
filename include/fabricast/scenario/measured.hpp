// What the user has measured of the site, as the scenario states it:
//
//   measured: {all_reduce: {8B: 31us, 8GiB: 390GB/s}, alltoall: {1GiB: 41ms}}
//
// By collective a time or a bus bandwidth, as nccl-tests counts it, for each size. Of the scenario's own hosts and NCCL.
// Forecasts go on from there (report/interval.hpp).
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/fields.hpp"

namespace fabricast {

struct MeasuredSection {
  /// As given, by collective: a size, and a time or rate.
  std::array<std::map<std::string, std::string>, EnumNames<CollectiveOp>::names.size()> texts;
};
void visit_fields(FieldVisitor& visit, MeasuredSection& section);

/// A size that was measured: one of the two is above zero.
struct MeasuredValue {
  Bytes bytes;
  Seconds time;
  BytesPerSecond bus_bandwidth;
};

/// Of one collective, by rising size. \throws UserError (path measured.all_reduce.8B) for what is not a size, time or rate
std::vector<MeasuredValue> measured_values(const MeasuredSection& section, CollectiveOp op);

}  // namespace fabricast
