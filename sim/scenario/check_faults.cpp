// Checks of faults (check_faults.hpp).
#include "check_faults.hpp"

#include <fmt/format.h>

namespace fabricast {

void check_faults(Scenario& scenario, const std::function<bool(const std::string&)>& given, const Refusal& refuse,
                  std::vector<Diagnostic>& warnings) {
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    FaultSpec& f = scenario.faults[i];
    const std::string fault = fmt::format("faults[{}]", i), rate = fault + ".rate", clock = fault + ".clock";
    const int named = !f.link.empty() + !f.gpu.empty() + !f.nic.empty() + (f.host >= 0);
    if (named != 1)
      refuse(fault, named == 0 ? "names no component" : "names several components",
             "give one of link, host, gpu, nic, e.g. link: leaf0-spine1, host: 3, gpu: node3.gpu2, nic: node3.nic1");
    const bool clocked = f.clock.value < 1;
    if (clocked && f.host < 0 && f.gpu.empty()) refuse(clock, "applies only to a host or a GPU", {});
    if (clocked && (f.at.value > 0 || f.until.value > 0))
      refuse(clock, "applies to the whole step, but `at` or `until` is given", "write a separate fault for the rate");
    if (clocked && !given(rate)) f.rate.value = 1;
    if (clocked && scenario.workload.kind == WorkloadKind::collective)
      warnings.push_back({Diagnostic::Severity::warning,
                          {},
                          clock,
                          "has no effect on a single collective: clocks slow the computation of training steps",
                          "node.clock slows the copies of all GPUs"});
    if (f.until.value > 0 && f.until <= f.at) refuse(fault + ".until", "is not after `at`", {});
    if (!given(rate) && !clocked)
      refuse(fault, "`rate` is missing", "write e.g. rate: 10%, or rate: 0 for a link that is down");
  }
}

}  // namespace fabricast
