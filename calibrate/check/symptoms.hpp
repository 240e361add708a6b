// The symptoms of each cause: the forms it can take, as changes of the scenario.
//
// An empty list means that the cause is impossible on that cluster. Reports print `what` in a column of 45 characters.
#pragma once

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

using Symptoms = std::vector<Symptom>;
inline constexpr auto one_symptom = one_if<Symptom>;

inline const Communicator& comm_of(const World& w) { return w.planner().comm; }
inline const NicSpec& nics_of(const World& w) { return w.scenario().node.spec.nics; }
inline bool networked(const World& w) { return comm_of(w).nodes() > 1; }
inline bool rdma(const World& w) { return networked(w) && nics_of(w).link != LinkKind::socket; }

/// The `--set` word that slows links to a percentage of their rate and keeps the faults of the scenario.
std::string faults_word(const World& w, const std::vector<std::string>& links, int percent);

// The network.
Symptoms slow_nics(const World& w);
Symptoms slow_slots(const World& w);
Symptoms by_sockets(const World& w);
Symptoms few_nics(const World& w);
Symptoms collisions(const World& w);
Symptoms thin_uplinks(const World& w);
Symptoms busy_uplinks(const World& w);

// The host.
Symptoms host_staging(const World& w);
Symptoms far_nics(const World& w);
Symptoms no_peer_to_peer(const World& w);
Symptoms redirected_pcie(const World& w);
Symptoms flat_topology(const World& w);
Symptoms one_process(const World& w);
Symptoms slow_clocks(const World& w);
Symptoms slow_host(const World& w);
Symptoms stragglers(const World& w);
Symptoms damaged_data(const World& w);

// NCCL.
Symptoms no_nvlink_across_hosts(const World& w);
Symptoms other_algorithms(const World& w);
Symptoms other_protocols(const World& w);
Symptoms few_channels(const World& w);
Symptoms regressions(const World& w);

}  // namespace fabricast
