// Causes in the hosts: how GPUs reach each other and their NICs, and how fast hosts and GPUs run.
#include <fmt/format.h>

#include <algorithm>

#include "symptoms.hpp"

namespace fabricast {

namespace {

const NodeSpec& host(const World& w) { return w.scenario().node.spec; }

/// Whether the node has PCIe switches by its number of them, and not by a topology file.
bool usual_switches(const World& w) {
  return host(w).topology.empty() && !w.scenario().nccl.env.contains("NCCL_TOPO_FILE") && host(w).pcie_switches > 0;
}

/// Whether some GPUs of a host reach each other over PCIe.
bool peers_over_pcie(const World& w) {
  const std::vector<PeerPath>& routes = comm_of(w).node.peer_paths;
  return std::find(routes.begin(), routes.end(), PeerPath::pcie) != routes.end();
}

/// Whether some GPUs of a node access each other directly.
bool direct_peers(const World& w) {
  const Node& node = comm_of(w).node;
  if (comm_of(w).gpus() < 2) return false;
  const auto direct = [](PeerPath route) { return route != PeerPath::host_memory; };
  // No paths are stated where all GPUs are connected by NVLink.
  return node.peer_paths.empty() || std::any_of(node.peer_paths.begin(), node.peer_paths.end(), direct);
}

/// Names of the links of the first GPU to other GPUs, such as `node0.gpu0-nvswitch`.
std::vector<std::string> links_of_first_gpu(const World& w) {
  const NodeGraph& graph = comm_of(w).node.graph;
  const bool nvlink = comm_of(w).node.nvlink;
  std::vector<std::string> names;
  // NVLink ports where the node has NVLink, else the PCIe link of the GPU.
  for (std::uint16_t l = 0; l < graph.link_count(); ++l)
    if (graph.links[l].from == graph.gpu(0) && (graph.links[l].link_class.kind == LinkKind::nvlink) == nvlink)
      names.push_back("node0." + graph.link_name(l));
  return names;
}

}  // namespace

Symptoms host_staging(const World& w) {
  return one_symptom(rdma(w) && comm_of(w).gdr, "data staged in host memory", {"node.gdr=false"});
}

Symptoms far_nics(const World& w) {
  return one_symptom(networked(w) && host(w).sockets > 1, "GPUs use NICs of the other socket",
                     {"node.nics.numa=remote"});
}

Symptoms no_peer_to_peer(const World& w) {
  Symptoms list;
  if (!direct_peers(w)) return list;
  // Without peer-to-peer access NCCL copies through shared host memory; without that it uses the NICs even inside a
  // host.
  const std::string off = env_word("NCCL_P2P_DISABLE", 1);
  list.push_back({"GPUs of a host use shared host memory", {off}});
  if (host(w).nics.count > 0)
    list.push_back({"GPUs of a host communicate over their NICs", {off, env_word("NCCL_SHM_DISABLE", 1)}});
  return list;
}

/// ACS redirects only traffic that would turn around at a PCIe switch.
Symptoms redirected_pcie(const World& w) {
  // GPUDirect RDMA turns around at PCIe switches only if no root complex lies between GPU and NIC (PIX, PXB).
  const bool to_nic =
      rdma(w) && comm_of(w).gdr && (comm_of(w).to_nic == PathType::PIX || comm_of(w).to_nic == PathType::PXB);
  const bool switches = host(w).layout ? host(w).layout->switches() > 0 : host(w).pcie_switches > 0;
  return one_symptom(!host(w).acs && switches && (to_nic || peers_over_pcie(w)),
                     "PCIe traffic through the root complex", {"node.acs=true"});
}

/// NCCL finds all devices at one root complex. It then uses neither GPUDirect RDMA nor peer-to-peer access over PCIe.
/// If these are forced, it pairs GPUs with any NIC.
Symptoms flat_topology(const World& w) {
  Symptoms list;
  const bool gdr = rdma(w) && comm_of(w).gdr;
  if (!usual_switches(w) || !(gdr || peers_over_pcie(w))) return list;
  std::vector<std::string> flat{"node.pcie_switches=0"};
  if (peers_over_pcie(w)) flat.emplace_back("node.peer_to_peer=false");
  std::vector<std::string> staged = flat;
  staged.emplace_back("node.gdr=false");
  list.push_back({"a flat PCIe tree, data staged in host memory", staged});
  if (!gdr || host(w).sockets < 2) return list;
  std::vector<std::string> unmatched = flat;
  unmatched.insert(unmatched.end(), {"node.gdr=true", "node.nics.numa=remote"});
  list.push_back({"a flat PCIe tree, GPUs use distant NICs", unmatched});
  return list;
}

Symptoms one_process(const World& w) {
  const HarnessSpec& harness = w.scenario().workload.harness;
  // If the scenario has several GPUs per process already, their launches are part of the forecast.
  return one_symptom(
      harness.ranks_per_process == 1 && harness.tool != Tool::isolated && host(w).gpus > 1,
      fmt::format("one thread drives {} GPUs", host(w).gpus),
      {fmt::format("workload.harness.ranks_per_process={}", host(w).gpus), "workload.harness.threads=1"});
}

Symptoms slow_clocks(const World& w) {
  Symptoms list;
  // Relative to the clock of the scenario, which may be reduced already.
  for (const int percent : {85, 70, 55, 40, 25, 15})
    if (const double clock = host(w).clock.value * percent; clock >= 5)
      list.push_back({fmt::format("GPU clocks at {} %", percent), {fmt::format("node.clock={:g}%", clock)}});
  return list;
}

Symptoms slow_host(const World& w) {
  Symptoms list;
  // Added to what the scenario states, such as the delay of a virtual machine.
  for (const int us : {5, 10, 15, 20, 40})
    list.push_back({fmt::format("{} us more per call", us),
                    {fmt::format("node.call_delay={:g}us", host(w).call_delay.value * 1e6 + us)}});
  if (!networked(w)) return list;
  for (const int us : {3, 10, 20})
    list.push_back({fmt::format("{} us more per network hop", us),
                    {fmt::format("node.nics.delay={:g}us", nics_of(w).delay.value * 1e6 + us)}});
  return list;
}

/// All ranks wait for one that is late, for a GPU with slow links, or for a host with slow NICs.
Symptoms stragglers(const World& w) {
  Symptoms list;
  // A late rank delays every call by its lateness, which a call delay on all hosts expresses. The values begin where
  // those of `host_cost` end, so the two causes differ by size of the delay.
  for (const int us : {60, 200, 600, 2000})
    list.push_back({fmt::format("one rank {} us late", us),
                    {fmt::format("node.call_delay={:g}us", host(w).call_delay.value * 1e6 + us)}});
  if (const std::vector<std::string> links = links_of_first_gpu(w); comm_of(w).gpus() > 1 && !links.empty())
    for (const int percent : {50, 25, 10})
      list.push_back(
          {fmt::format("links of one GPU at {} % of their rate", percent), {faults_word(w, links, percent)}});
  if (!networked(w)) return list;
  std::vector<std::string> all;
  // All NICs of one host: a slow socket, IOMMU or CPU on that host limits all of them.
  for (int n = 0; n < nics_of(w).count; ++n) all.push_back(fmt::format("node0.nic{}", n));
  for (const int percent : {50, 25})
    list.push_back(
        {fmt::format("all NICs of one host at {} % of their rate", percent), {faults_word(w, all, percent)}});
  return list;
}

/// A link that damages data may also retransmit, which takes time.
Symptoms damaged_data(const World& w) {
  // Damage that does not retransmit costs no time. The cause then follows only from results that the tool counted as
  // wrong.
  Symptoms list{{"times as forecast", {}}};
  const std::vector<std::string> links = networked(w) ? std::vector<std::string>{"node0.nic0"} : links_of_first_gpu(w);
  if (comm_of(w).ranks() < 2 || links.empty()) return list;
  for (const int percent : {50, 20})
    list.push_back(
        {fmt::format("a link that retransmits, at {} % of its rate", percent), {faults_word(w, links, percent)}});
  return list;
}

}  // namespace fabricast
