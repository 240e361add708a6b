#include "fabricast/scenario/dcqcn.hpp"

#include <fmt/format.h>

#include "fabricast/core/quantity.hpp"
#include "fabricast/engine/dcqcn.hpp"

namespace fabricast {

namespace {

bool is_dcqcn(const Scenario& s) { return s.fabric.congestion.control == CongestionControl::dcqcn; }

void refuse_settings_of_others(const Scenario& s) {
  const std::string section = "fabric.congestion.dcqcn";
  const auto it = s.places.lower_bound(section);
  if (it == s.places.end() || !it->first.starts_with(section)) return;
  throw UserError::at(it->first,
                      fmt::format("control `{}` does not use these settings", name_of(s.fabric.congestion.control)),
                      "use control: dcqcn");
}

void require_dcqcn(const Scenario& s) {
  const CongestionSpec& spec = s.fabric.congestion;
  const auto refuse = [](const std::string& path, std::string message, std::string hint) {
    throw UserError::at("fabric.congestion." + path, std::move(message), std::move(hint));
  };
  const NicSpec& nics = s.node.spec.nics;
  if (nics.count > 0 && nics.link != LinkKind::roce)
    refuse("control", fmt::format("{} does not use DCQCN, the congestion control of RoCE", name_of(nics.link)),
           "use control: reactive");
  if (s.workload.kind != WorkloadKind::collective || !s.jobs.empty() || !s.background.empty())
    refuse("control",
           "DCQCN is simulated only for a single collective: in repeated calls, flows have already found their rates",
           "use control: reactive for steps, serving, jobs and background flows");
  if (!spec.lossless)
    refuse("lossless", "with control `dcqcn`, switches pause links and drop no packets", "use control: reactive");
  if (spec.efficiency.value > 0) refuse("efficiency", "with control `dcqcn`, it is simulated", "use control: reactive");
  if (spec.dcqcn.kmax <= spec.dcqcn.kmin)
    refuse("dcqcn.kmax", fmt::format("must be above kmin, which is {}", to_text(spec.dcqcn.kmin)),
           fmt::format("e.g. kmax: {}", to_text(10 * spec.dcqcn.kmin)));
}

}  // namespace

bool simulates_pauses(const Scenario& s, const NetworkSetup& setup) {
  return s.fabric.congestion.control == CongestionControl::none && s.workload.kind == WorkloadKind::collective &&
         s.fabric.congestion.lossless && s.fabric.congestion.efficiency.value == 0 && s.jobs.empty() &&
         s.background.empty() && setup.fabric && setup.comm->nodes() > 1 && !is_spread(setup.paths());
}

std::shared_ptr<const DcqcnSettings> dcqcn_settings(const Scenario& s, const NetworkSetup& setup) {
  if (!is_dcqcn(s)) {
    refuse_settings_of_others(s);
    if (!simulates_pauses(s, setup)) return nullptr;
    return std::make_shared<const DcqcnSettings>(pauses_alone(DcqcnSettings{}.xoff));
  }
  require_dcqcn(s);
  if (!setup.fabric || setup.comm->nodes() < 2) return nullptr;
  if (is_spread(setup.paths()))
    throw UserError::at("fabric.congestion.control", "DCQCN is simulated only for flows that use a single path",
                        "use routing: {kind: ecmp}, static, or adaptive by flowlet; or control: reactive");
  return std::make_shared<const DcqcnSettings>(s.fabric.congestion.dcqcn);
}

std::optional<Diagnostic> dcqcn_warning(const Scenario& s, const NetworkSetup& setup) {
  if (!is_dcqcn(s) || !setup.fabric || setup.comm->nodes() < 2) return std::nullopt;
  return Diagnostic{Diagnostic::Severity::warning,
                    {},
                    "fabric.congestion.control",
                    "DCQCN: all flows of a call are assumed to start together at line rate, as after a pause",
                    "use control: reactive for calls that repeat without a pause, whose flows have found their rates"};
}

}  // namespace fabricast
