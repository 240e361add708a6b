// A number that describes hardware or software: its value, the 90 % interval in which it is believed to lie, and its
// source.
//
// Values are plain doubles in the unit of the data files, since one list holds times, rates, sizes and ratios; code
// takes them out by `us()` or `gbps()`, or as a number if they are ratios. Plain values; safe to read concurrently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

/// A parameter. Its unit is in the ParameterRef that lists it. In data files 0 <= low <= value <= high, which the
/// reader checks. In copies the value may lie outside: that of a slow host, a sample of a fit, or a step of a
/// derivative.
struct Parameter {
  double value = 0;
  double low = 0, high = 0;
  std::string source;  ///< origin, colon, remark with keys of docs/references.md; only the key if a fit found the value
  /// Posterior samples. The n-th samples of all parameters belong together. Empty: not fitted, so only the interval is
  /// known.
  std::vector<double> samples;
  bool inherited = false;  ///< has no value of its own; the value of the set that its set is `like` applies

  /// The value as a time, for unit us.
  Seconds us() const { return {value * 1e-6}; }
  /// The value as a rate, for unit GB/s.
  BytesPerSecond gbps() const { return {value * 1e9}; }
};

/// Kind of knowledge behind the value of a parameter.
enum class ParameterOrigin {
  fit,         ///< fitted to measurements, by this project or by a user
  study,       ///< a prototype fitted to measurements (docs/studies)
  data_sheet,  ///< stated by the vendor
  standard,    ///< computed from a format that a standard defines
  literature,  ///< measured and published by others
  guess,       ///< not measured; the interval is an engineer's estimate
  constant     ///< no interval: the effect does not exist, or another parameter includes it
};
template <>
struct EnumNames<ParameterOrigin> {
  static constexpr std::array<std::string_view, 7> names{"fit",        "study", "data sheet", "standard",
                                                         "literature", "guess", "constant"};
};
/// The origin, from the text of the source before its first colon. `fit` if that is no origin, as in profiles of users;
/// `constant` if low equals high.
ParameterOrigin origin_of(const Parameter& parameter);

/// Quantile of the standard normal distribution below which 95 % lie. Intervals are 90 % intervals.
inline constexpr double quantile_95 = 1.645;

/// One entry of a list of parameters, for reading, writing, describing and fitting.
struct ParameterRef {
  std::string_view name;
  std::string_view unit;  ///< "us", "GB/s", "KiB", "terms", "keys" and so on; "" for a ratio
  std::string_view doc;   ///< one line on its meaning, as `fabricast describe` shows it
  Parameter* parameter;   ///< into the struct that was listed; never null
  bool share = false;     ///< fraction of a whole: above 0, at most 1
};

}  // namespace fabricast
