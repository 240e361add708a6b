// Evidence from the rest of a log: processes, wrong results, the host's topology.
//
// evidence_nccl.cpp weighs NCCL's own lines. A factor multiplies the prior of a cause in Bayes' rule (judge.cpp), so it
// acts as a likelihood ratio: what the log says is taken as independent of the times.
#include "evidence.hpp"

#include <algorithm>

namespace fabricast {

namespace {

/// Whether some GPU of `nvidia-smi topo -m` has a NIC behind PCIe switches only; empty if the matrix relates no GPU to
/// a NIC.
std::optional<bool> near_nic(const TopoMatrix& topo) {
  std::optional<bool> near;
  for (std::size_t row = 0; row < topo.devices.size(); ++row)
    for (std::size_t column = 0; column < topo.devices.size(); ++column) {
      // PIX is one PCIe switch, PXB are several; PHB, NODE and SYS go through the root complex or the sockets.
      if (!topo.devices[row].starts_with("GPU") || topo.devices[column].starts_with("GPU")) continue;
      const std::string& link = topo.link(row, column);
      if (!link.empty()) near = near.value_or(false) || link == "PIX" || link == "PXB";
    }
  return near;
}

void weigh_tables(Weights& weights, const Imported& log) {
  bool stated = false, alone = true, wrong = false;
  for (const LogTable& table : log.tables) {
    stated = stated || table.ranks_per_process > 0;
    alone = alone && table.ranks_per_process <= std::max(1, table.threads);
    // One wrong result is enough, because nccl-tests allows for rounding.
    wrong = wrong || std::any_of(table.rows.begin(), table.rows.end(), [](const LogRow& row) { return row.wrong > 0; });
  }
  // Several GPUs per thread are part of the forecast already, so they are no evidence for the cause.
  weights.state(Cause::one_process, false, stated && alone);
  weights.state(Cause::data_corruption, wrong, false);
}

}  // namespace

std::map<Cause, double> evidence(const NcclFacts& log, const World& world) {
  Weights weights;
  weigh_nccl(weights, log, world);
  return weights.take();
}

std::map<Cause, double> evidence(const Imported& log, const World& world) {
  Weights weights;
  weigh_nccl(weights, log.nccl, world);
  weigh_tables(weights, log);
  // Only if the scenario has PCIe switches: otherwise a flat matrix is what it says.
  if (log.topo && world.scenario().node.spec.pcie_switches > 0)
    if (const auto near = near_nic(*log.topo)) weights.hint(Cause::vm_topology, !*near, *near);
  return weights.take();
}

}  // namespace fabricast
