// Timeouts of queue pairs, from the section `reliability` and NCCL's variables (scenario/transport.hpp).
#include "fabricast/scenario/transport.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "fabricast/core/quantity.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

namespace {

/// An NCCL variable from the scenario or the provider, limited to 0 to 31.
int variable_of(const Scenario& s, const ProviderEnvironment& provider, const std::string& name, int otherwise) {
  const auto& env = s.nccl.env.contains(name) ? s.nccl.env : provider.variables;
  const auto it = env.find(name);
  if (it == env.end()) return otherwise;
  const auto value = parse_integer(it->second);
  return value ? static_cast<int>(std::clamp<std::int64_t>(value.value, 0, 31)) : otherwise;
}

}  // namespace

Transport transport_of(const Scenario& s, const ProviderEnvironment& provider, const TransportSpec& spec) {
  const NcclVersion version = main_version(s);
  const int usual = version >= NcclVersion{2, 23, 0} ? 20 : version >= NcclVersion{2, 14, 0} ? 18 : 14;
  const int exponent = spec.timeout > 0 ? spec.timeout : variable_of(s, provider, "NCCL_IB_TIMEOUT", usual);
  const int retries = spec.retries >= 0 ? spec.retries : variable_of(s, provider, "NCCL_IB_RETRY_CNT", 7);
  const double timeout = 4.096e-6 * std::exp2(exponent);
  return {timeout, retries * timeout};
}

}  // namespace fabricast
