// A number that describes hardware: a value, the interval in which it is believed to lie, and where it comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

struct Parameter {
  double value = 0;  ///< in the unit that the list of parameters states
  double low = 0, high = 0;
  std::string source;  ///< origin, colon and remark with keys of docs/references.md; of a fit its key alone
  /// Values that the data could as well have led to; the n-th of all parameters belong together. Empty: not fitted, the
  /// interval tells.
  std::vector<double> samples;
  bool inherited = false;  ///< has no value of its own: that of the set that its set is like counts

  Seconds us() const { return {value * 1e-6}; }
  BytesPerSecond gbps() const { return {value * 1e9}; }  ///< unit GB/s
};

/// What kind of knowledge a parameter's value rests on.
enum class ParameterOrigin {
  fit,         ///< this project's own fit of measurements, or a user's
  study,       ///< a prototype fitted to measurements (docs/studies)
  data_sheet,  ///< what the maker states
  standard,    ///< computed from a format that a standard lays down
  literature,  ///< measured and published by others
  guess,       ///< nobody measured it: the interval is an engineer's
  constant     ///< no interval: what it stands for is not there, or counted elsewhere
};
template <>
struct EnumNames<ParameterOrigin> {
  static constexpr std::array<std::string_view, 7> names{"fit",        "study", "data sheet", "standard",
                                                         "literature", "guess", "constant"};
};
/// By the word that its source begins with; `fit` where there is none, as in profiles of users.
ParameterOrigin origin_of(const Parameter& parameter);

/// Quantile of the standard normal distribution below which 95 % lie: intervals hold 90 %.
inline constexpr double quantile_95 = 1.645;

/// One line of a parameter list: for reading, writing, describing and fitting.
struct ParameterRef {
  std::string_view name;
  std::string_view unit;  ///< "us", "GB/s", "KiB", "terms", "keys" or "" for a ratio
  std::string_view doc;
  Parameter* parameter;
  bool share = false;  ///< part of a whole: above 0, at most 1
};

}  // namespace fabricast
