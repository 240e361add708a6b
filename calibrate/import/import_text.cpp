// The contents of a log as text, one line per table and fact.
//
// Long lists, such as edges and choices, are counted by kind. `--json` has them in full.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/calibrate/import.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

std::string list_of(const std::vector<std::string>& words) {
  return join(std::vector<std::string_view>(words.begin(), words.end()));
}

std::string table_line(const LogTable& t) {
  std::string text =
      fmt::format("  line {:<6} {} {}: {}", t.line, t.tool, t.operation.empty() ? "(operation unknown)" : t.operation,
                  counted(static_cast<std::int64_t>(t.rows.size()), "row"));
  const auto [least, most] = std::minmax_element(t.rows.begin(), t.rows.end(),
                                                 [](const LogRow& a, const LogRow& b) { return a.bytes < b.bytes; });
  text += fmt::format(", {} to {} B", least->bytes, most->bytes);
  if (t.ranks > 0) text += ", " + counted(t.ranks, "rank");
  if (t.nodes > 0) text += " on " + counted(t.nodes, "node");
  if (t.ranks_per_process > 0) text += fmt::format(", {} per process", t.ranks_per_process);
  if (!t.gpu.empty()) text += ", " + t.gpu;
  if (!t.nccl_version.empty()) text += ", NCCL " + t.nccl_version;
  if (t.iterations > 0) text += ", " + counted(t.iterations, "iteration");
  if (t.cpu_time) text += ", host times";
  if (t.live) {
    std::int64_t calls = 0;
    for (const LogRow& r : t.rows) calls += r.spread ? r.spread->calls : 0;
    text += ", " + counted(calls, "call");
  }
  if (t.scattered) text += ", ranks not consecutive";
  for (const auto& [key, value] : t.details) text += fmt::format(", {} {}", key, value);
  const auto wrong = std::count_if(t.rows.begin(), t.rows.end(), [](const LogRow& r) { return r.wrong > 0; });
  if (wrong > 0) text += fmt::format(", {} with wrong results", counted(wrong, "row"));
  return text + "\n";
}

std::string nccl_lines(const NcclFacts& n) {
  std::string text;
  // Facts that a log does not state are not printed.
  const auto fact = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<14} {}\n", what, value);
  };
  fact("NCCL", n.version);
  for (const NcclCommunicator& c : n.communicators)
    fact("communicator", counted(c.ranks, "rank") + (c.nodes > 0 ? " on " + counted(c.nodes, "node") : ""));
  if (n.channels > 0)
    fact("channels", fmt::format("{}; {} for CollNet, {} for NVLS, {} for sends and receives", n.channels,
                                 n.collnet_channels, n.nvls_channels, n.p2p_channels));
  if (!n.rings.empty()) fact("rings", std::to_string(n.rings.size()));
  if (!n.trees.empty()) fact("trees", counted(static_cast<std::int64_t>(n.trees.size()), "place"));
  std::map<std::string, std::int64_t> transports;
  for (const NcclEdge& e : n.edges) ++transports[e.transport];
  for (const auto& [transport, count] : transports) fact("connections", fmt::format("{} via {}", count, transport));
  std::vector<std::string> nics;
  for (const NcclNic& nic : n.nics) nics.push_back(nic.name + "/" + nic.kind);
  fact("NICs", list_of(nics));
  std::map<std::int64_t, std::int64_t> speeds;
  for (const auto& [name, speed] : n.nic_speeds) ++speeds[speed];
  for (const auto& [speed, count] : speeds)
    fact("NIC rate", fmt::format("{} Mb/s of {}", speed, counted(count, "NIC")));
  fact("network", list_of(n.networks));
  fact("provider", n.provider);
  fact("plugins", list_of(n.plugins));
  if (n.gdr) fact("GDR in rings", *n.gdr ? "yes" : "no");
  if (n.gdr_enabled + n.gdr_disabled > 0)
    fact("GDR", fmt::format("{} enabled, {} disabled", n.gdr_enabled, n.gdr_disabled));
  if (n.pxn) fact("PXN in rings", *n.pxn ? "yes" : "no");
  if (n.nvls_multicast) fact("NVLS multicast", *n.nvls_multicast ? "available" : "not available");
  if (n.mnnvl) fact("MNNVL", *n.mnnvl ? "used" : "not used");
  if (n.mnnvl_broken) fact("MNNVL", "available, but not working");
  if (n.peers_refused > 0) fact("peer to peer", fmt::format("refused in {} lines", n.peers_refused));
  if (n.acs_hint) fact("hint", "Access Control Services");
  fact("topology file", n.topology_file);
  if (n.topology_missing) fact("topology file", "not found");
  if (n.unplaced_nics > 0) fact("NICs not placed", std::to_string(n.unplaced_nics));
  std::map<std::string, std::int64_t> chosen;
  for (const NcclChoice& c : n.choices) ++chosen[c.algorithm + "/" + c.protocol];
  for (const auto& [what, count] : chosen) fact("chosen", fmt::format("{} for {}", what, counted(count, "size")));
  for (const auto& [key, value] : n.env) fact("variable", key + "=" + value);
  for (const std::string& w : n.warnings) fact("warning", w);
  return text;
}

std::string job_lines(const JobFacts& job) {
  if (job.tool.empty()) return {};
  std::string text = fmt::format(
      "  {:<14} {}, {} of {}\n", "telemetry", job.tool, counted(job.records, "record"),
      counted(static_cast<std::int64_t>(job.communicators.size()) + job.communicators_left_out, "communicator"));
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < std::min(most, job.communicators.size()); ++i) {
    const JobCommunicator& c = job.communicators[i];
    text += fmt::format("  {:<14} {}{}", "communicator", c.id, c.name.empty() ? "" : " (" + c.name + ")");
    if (c.ranks > 0) text += ", " + counted(c.ranks, "rank");
    if (c.nodes > 0) text += " on " + counted(c.nodes, "node");
    text += fmt::format(", {} seen", c.seen);
    if (c.calls + c.part > 0) text += fmt::format(", {} matched", counted(c.calls, "call"));
    if (c.part > 0) text += fmt::format(", {} in part", c.part);
    text += "\n";
  }
  if (job.communicators.size() > most)
    text += fmt::format("  {:<14} {} more\n", "communicators", job.communicators.size() - most);
  const std::string behind = behind_text(job.communicators);
  return behind.empty() ? text : text + "  ranks behind\n" + behind;
}

}  // namespace

std::string import_text(const Imported& log) {
  std::string text;
  for (const LogTable& t : log.tables) text += table_line(t);
  text += job_lines(log.job);
  text += nccl_lines(log.nccl);
  if (log.topo)
    text += fmt::format("  line {:<6} topology matrix of {}\n", log.topo->line,
                        counted(static_cast<std::int64_t>(log.topo->devices.size()), "device"));
  for (const PeerMatrix& m : log.peers)
    text += fmt::format("  line {:<6} {} of {}, peer to peer {}\n", m.line, m.kind,
                        counted(static_cast<std::int64_t>(m.devices.size()), "GPU"), m.peer_to_peer ? "on" : "off");
  if (log.node)
    text +=
        fmt::format("  topology file: {}, {}, {}\n", counted(static_cast<std::int64_t>(log.node->gpus.size()), "GPU"),
                    counted(static_cast<std::int64_t>(log.node->nics.size()), "NIC"),
                    log.node->has_nvswitch() ? "NVSwitch" : "no NVSwitch");
  return text;
}

}  // namespace fabricast
