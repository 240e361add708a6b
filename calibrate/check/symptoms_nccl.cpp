// Causes in NCCL: its settings, and known regressions of its version.
//
// Each symptom sets the variable that would have this effect, so NCCL's planner decides what follows from it. A forced
// algorithm or protocol that equals NCCL's choice changes nothing, and check.cpp then finds no effect.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/report/forecast.hpp"
#include "symptoms.hpp"

namespace fabricast {

Symptoms no_nvlink_across_hosts(const World& w) {
  return one_symptom(comm_of(w).node.hosts > 1, "hosts of a domain communicate over NICs",
                     {env_word("NCCL_MNNVL_ENABLE", 0)});
}

Symptoms other_algorithms(const World& w) {
  Symptoms list;
  for (const Algorithm a : {Algorithm::ring, Algorithm::tree, Algorithm::nvlstree, Algorithm::nvls})
    list.push_back({fmt::format("NCCL_ALGO={}", name_of(a)), {env_word("NCCL_ALGO", name_of(a))}});
  // Without NVSwitch, NCCL would not start with the NVLS algorithms.
  if (comm_of(w).heads.size() < 2) list.resize(2);
  return list;
}

Symptoms other_protocols(const World&) {
  Symptoms list;
  for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple})
    list.push_back({fmt::format("NCCL_PROTO={}", name_of(p)), {env_word("NCCL_PROTO", name_of(p))}});
  return list;
}

Symptoms few_channels(const World& w) {
  Symptoms list;
  // Both variables limit the number of channels, and the cluster may have set either.
  for (const int n : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24})
    if (n < comm_of(w).channels)
      list.push_back(
          {fmt::format("at most {} channels", n), {env_word("NCCL_MAX_NCHANNELS", n), env_word("NCCL_MAX_CTAS", n)}});
  return list;
}

/// Regressions that match a call of the scenario and whose mechanism a scenario can express.
Symptoms regressions(const World& w) {
  Symptoms list;
  std::vector<const Regression*> seen;
  for (const std::int64_t bytes : w.scenario().sizes())
    for (const Regression* known : regressions_of(w.planner(), plan_workload(w, bytes))) {
      if (known->simulated.empty() || std::find(seen.begin(), seen.end(), known) != seen.end()) continue;
      seen.push_back(known);
      list.push_back({"regression " + known->id, known->simulated});
    }
  return list;
}

}  // namespace fabricast
