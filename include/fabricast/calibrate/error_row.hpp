// The error of one forecast, from which tables of errors are made.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "fabricast/hardware/size_bands.hpp"

namespace fabricast {

/// One forecast against its measurement.
struct ErrorRow {
  std::string system;
  std::size_t band = 0;
  double log_ratio = 0;                    ///< ln(forecast / measured)
  double within = 0;                       ///< of its 90 % interval, half as ln; 0: has none
  std::optional<double> nccl_log_ratio{};  ///< ln(NCCL's own estimate / measured), where it makes one
};

using BandValues = std::array<double, bands.size()>;  ///< [band]

}  // namespace fabricast
