// The error of one forecast, from which tables of errors are made (docs/validation.md).
//
// Errors are logarithms of a ratio, so that twice as fast and half as fast are equally far off, and errors of sizes
// from bytes to gigabytes can be averaged. A positive one means that the forecast is too slow. Plain values.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "fabricast/hardware/size_bands.hpp"

namespace fabricast {

/// One forecast, compared with its measurement.
struct ErrorRow {
  std::string system;                      ///< name of the measured system; tables weigh systems equally
  std::size_t band = 0;                    ///< index into `bands`
  double log_ratio = 0;                    ///< ln(forecast / measured)
  double within = 0;                       ///< half the width of the forecast's 90 % interval, as ln; 0: no interval
  std::optional<double> nccl_log_ratio{};  ///< ln(NCCL's own estimate / measured), if NCCL makes one
};

/// A value for each size band, in the order of `bands`.
using BandValues = std::array<double, bands.size()>;

}  // namespace fabricast
