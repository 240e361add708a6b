// Operations on groups of parameters (residual/parameter_groups.hpp): lowering one for a derivative, and how well each
// is known.
#include "fabricast/residual/parameter_groups.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

/// The distribution is linear in the parameters, which means little beyond a factor of e.
constexpr double most = 1;

// A 90 % interval of a log-normal spans 2 x 1.645 standard deviations of the logarithm. Parameters without an interval,
// or that may be 0, count as known.
double deviation_of(const Parameter& p) {
  if (!(p.low > 0) || !(p.high > p.low)) return 0;
  return std::min(most, std::log(p.high / p.low) / (2 * quantile_95));
}

bool starts_with_any(std::string_view path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& p) { return path.starts_with(p); });
}

}  // namespace

bool has_parameter(const ParameterGroup& group, std::string_view path) {
  return std::any_of(group.parameters.begin(), group.parameters.end(),
                     [&](std::string_view pattern) { return !pattern.empty() && names_parameter(pattern, path); });
}

bool lower(Hardware& hardware, const ParameterGroup& group, double by) {
  bool any = false;
  for (const auto& [path, ref] : hardware.all_parameters()) {
    if (!(ref.parameter->value > 0) || !has_parameter(group, path)) continue;
    // Values that are 0 stay 0: they switch a term off.
    ref.parameter->value *= std::exp(-by);
    any = true;
  }
  return any;
}

PerGroup<double> deviations(const Hardware& hardware, const std::vector<std::string>& used) {
  PerGroup<double> found{};
  Hardware all = hardware;
  for (const auto& [path, ref] : all.all_parameters()) {
    if (!starts_with_any(path, used)) continue;
    for (std::size_t g = 0; g < parameter_groups.size(); ++g)
      // The least known parameter stands for its group, as all of them scale together.
      if (has_parameter(parameter_groups[g], path)) found[g] = std::max(found[g], deviation_of(*ref.parameter));
  }
  return found;
}

}  // namespace fabricast
