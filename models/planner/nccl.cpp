// Parses NCCL's variables as NCCL does [NCCL-env].
#include "fabricast/planner/nccl.hpp"

#include <algorithm>

#include "fabricast/core/names.hpp"
#include "variable_value.hpp"

namespace fabricast {

std::span<const NcclVariable> nccl_variables() {
  // The table is sorted because find_by_name, the printed lists and docs/nccl-variables.md rely on the order of names.
  static const std::vector<NcclVariable> all = [] {
    std::vector<NcclVariable> list;
    for (const auto& part : {variables_of_choice(), variables_of_network(), variables_of_no_effect()})
      list.insert(list.end(), part.begin(), part.end());
    std::sort(list.begin(), list.end(), [](const NcclVariable& a, const NcclVariable& b) { return a.name < b.name; });
    return list;
  }();
  return all;
}

namespace {

using Diagnostics = std::vector<Diagnostic>;

Diagnostic about(std::string_view name, Diagnostic::Severity severity, std::string message, std::string hint = {}) {
  return {severity, {}, "nccl.env." + std::string(name), std::move(message), std::move(hint)};
}

/// Checks that values do not contradict each other.
void check_together(NcclSettings& s, Diagnostics& faults, Diagnostics& warnings) {
  const auto crossed = [&](std::string_view name, const std::optional<int>& least, const std::optional<int>& most) {
    if (least && most && *least > *most)
      faults.push_back(about(name, Diagnostic::Severity::error,
                             fmt::format("the minimum of {} channels exceeds the maximum of {}", *least, *most)));
  };
  crossed("NCCL_MIN_NCHANNELS", s.min_channels, s.max_channels);
  crossed("NCCL_MIN_P2P_NCHANNELS", s.min_p2p_channels, s.max_p2p_channels);
  // NCCL does not stop at too many sockets. It keeps the threads and gives each fewer sockets.
  const int threads = s.socket_threads.value_or(0), sockets = s.sockets_per_thread.value_or(1);
  if (threads * sockets > most_sockets) {
    s.sockets_per_thread = most_sockets / threads;
    warnings.push_back(about("NCCL_NSOCKS_PERTHREAD", Diagnostic::Severity::warning,
                             fmt::format("{} threads with {} sockets each exceed {} sockets; NCCL uses {} per thread",
                                         threads, sockets, most_sockets, *s.sockets_per_thread)));
  }
}

}  // namespace

NcclSettings parse_nccl_environment(const NcclVersion& version, const std::map<std::string, std::string>& environment,
                                    std::vector<Diagnostic>& warnings) {
  NcclSettings settings;
  settings.version = version;
  // NCCL's defaults: all algorithms may run, and LL128 only where 128 B stores stay whole, which the cost model
  // decides.
  for (auto& row : settings.algorithms.of) row.fill(true);
  for (auto& row : settings.protocols.of) row = {ProtocolSwitch::on, ProtocolSwitch::automatic, ProtocolSwitch::on};
  Diagnostics faults;
  const std::span<const NcclVariable> all = nccl_variables();
  // An unknown NCCL_ name is only a warning, because NCCL and plugins read variables that the table does not list.
  // Errors of all variables are collected, so that one run reports all of them.
  for (const auto& [name, text] : environment) {
    const NcclVariable* variable = find_by_name(all, name);
    VariableValue value(name, text, faults, warnings);
    if (!name.starts_with("NCCL_")) {
      value.refuse("is not an NCCL variable", "names start with NCCL_");
    } else if (!variable) {
      const auto near = nearest(name, names_of(all));
      value.warn("unknown variable", near ? fmt::format("did you mean '{}'?", *near) : std::string());
    } else {
      if (variable->read) variable->read(value, settings);
      if (variable->effect.empty()) value.warn("accepted, but has no effect on forecast times");
    }
  }
  check_together(settings, faults, warnings);
  if (!faults.empty()) throw UserError(std::move(faults));
  return settings;
}

}  // namespace fabricast
