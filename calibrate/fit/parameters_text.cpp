// Fitted parameters as text, for fits of collectives, steps and serving alike.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

std::string parameters_text(const std::vector<FittedParameter>& parameters) {
  // The error by the data alone is infinite where they do not depend on a parameter.
  constexpr double most = 9;
  std::string out;
  for (const FittedParameter& p : parameters)
    out += fmt::format("  {:<44} {:>9.4g} -> {:>9.4g}  factor {:.2f}  by data {:.2f}\n", p.path, p.before.value,
                       p.after.value, std::exp(quantile_95 * p.error),
                       std::exp(std::min(most, quantile_95 * p.error_by_data)));
  return out;
}

}  // namespace fabricast
