// Compares what a log states with the scenario, before any time is judged: times of another cluster say nothing.
//
// Deviations that a Cause describes are not contradictions: fewer NICs, sockets in place of RDMA, one slow NIC.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/check.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

constexpr std::size_t longest_name = 80;  ///< characters of a product name that are shown

/// Whether a product name may stand for the scenario's kind of GPU. Some names are ambiguous.
bool may_be(const NamedGpu& product, const GpuKind& expected) {
  const GpuKind& kind = *product.kind;
  // `like` names the more usual kind from which a file cannot distinguish this one.
  if (kind.name == expected.name || kind.like == expected.name || expected.like == kind.name) return true;
  return std::any_of(product.others.begin(), product.others.end(),
                     [&](std::string_view other) { return other == expected.name; });
}

void compare_gpu(const LogTable& table, const World& world, std::vector<Contradiction>& found) {
  const Hardware& hardware = world.scenario().hardware;
  const GpuKind& expected = hardware.gpus.at(world.scenario().node.spec.gpu);
  const std::string name = shown(table.gpu, longest_name);
  if (name.empty()) return;
  const auto product = find_gpu(hardware, table.gpu);
  if (product && !may_be(*product, expected))
    found.push_back(
        {table.line, "node.gpu", name, expected.name, fmt::format("--set node.gpu={}", product->kind->name)});
  if (product) return;
  // The name of an unknown product says nothing. A known accelerator of another vendor gets its own advice.
  if (const OtherAccelerator* other = find_other_accelerator(hardware, table.gpu))
    found.push_back({table.line, "node.gpu", fmt::format("{}, {}", name, other->what), expected.name, other->instead});
}

void compare_nodes(int line, int logged, const World& world, std::vector<Contradiction>& found) {
  const int nodes = world.scenario().cluster.nodes;
  if (logged == 0 || logged == nodes) return;
  found.push_back({line, "cluster.nodes", std::to_string(logged), std::to_string(nodes),
                   fmt::format("--set cluster.nodes={}, with as many GPUs per node as in the log", logged)});
}

/// If the hosts have different numbers of ranks, the number of GPUs per host is unknown.
void compare_gpus(int line, int ranks, int nodes, const World& world, std::vector<Contradiction>& found) {
  if (ranks == 0 || nodes == 0 || ranks % nodes != 0) return;
  const int logged = ranks / nodes, gpus = world.scenario().node.spec.gpus;
  if (logged != gpus)
    found.push_back(
        {line, "node.gpus", std::to_string(logged), std::to_string(gpus), fmt::format("--set node.gpus={}", logged)});
}

/// Ranks per process, if the scenario states them. If it does not, they are taken from the log (calibrate/measured).
void compare_processes(const LogTable& table, const World& world, std::vector<Contradiction>& found) {
  const HarnessSpec& harness = world.scenario().workload.harness;
  const auto compare = [&](std::string key, int logged, int given, int usual) {
    // A default that the scenario does not mention is no statement. `places` holds the keys that its file gives.
    const bool stated = given != usual || world.scenario().places.contains(key);
    if (logged == 0 || logged == given || !stated) return;
    found.push_back(
        {table.line, key, std::to_string(logged), std::to_string(given), fmt::format("--set {}={}", key, logged)});
  };
  compare("workload.harness.ranks_per_process", table.ranks_per_process, harness.ranks_per_process, 1);
}

/// The kind of network that NCCL names; empty if it names none or several. Sockets are not compared: in place of RDMA
/// they are a cause.
std::optional<LinkKind> logged_link(const NcclFacts& nccl) {
  // The OFI plugin reports its libfabric provider. NCCL itself prints IB or RoCE for each NIC, by the link layer of its
  // port.
  if (nccl.provider == "efa") return LinkKind::efa;
  if (nccl.provider == "cxi") return LinkKind::slingshot;
  const auto is = [&](std::string_view kind) {
    return std::all_of(nccl.nics.begin(), nccl.nics.end(), [&](const NcclNic& nic) { return nic.kind == kind; });
  };
  if (nccl.nics.empty()) return std::nullopt;
  if (is("IB")) return LinkKind::infiniband;
  return is("RoCE") ? std::optional(LinkKind::roce) : std::nullopt;
}

/// The largest number of NICs that the connections of one host name.
int nics_of_a_host(const NcclFacts& nccl, int gpus) {
  std::map<int, NcclFacts> hosts;
  // The NIC in a line is that of the rank that prints it: the receiver for [receive], else the sender. Ranks are
  // assumed to be numbered host by host.
  for (const NcclEdge& edge : nccl.edges)
    if (edge.transport.starts_with("NET/") && !edge.transport.starts_with("NET/Socket"))
      hosts[(edge.receives ? edge.to : edge.from) / std::max(1, gpus)].edges.push_back(edge);
  std::size_t most = 0;
  for (const auto& [host, facts] : hosts) most = std::max(most, facts.nics_in_use().size());
  return static_cast<int>(most);
}

/// Reports a rate if all NICs run at the same one and it is not the scenario's. Their sum is compared as well, because
/// a log may count the ports of one card separately. Unequal rates are a cause, not a contradiction.
void compare_rate(const NcclFacts& nccl, const NicSpec& nics, std::vector<Contradiction>& found) {
  if (nccl.nic_speeds.empty()) return;
  const std::int64_t speed = nccl.nic_speeds.begin()->second;
  for (const auto& [name, other] : nccl.nic_speeds)
    if (other != speed) return;
  constexpr double same = 0.1;
  // NCCL prints rates in Mb/s; the scenario holds B/s.
  const double given = nics.rate.value * 8e-6, count = static_cast<double>(nccl.nic_speeds.size());
  const auto is = [&](double logged, double expected) { return std::abs(logged / expected - 1) < same; };
  const auto logged = static_cast<double>(speed);
  if (is(logged, given) || is(logged * count, given * nics.count)) return;
  found.push_back({nccl.line, "node.nics.rate", fmt::format("{:g}Gbps", logged * 1e-3), to_text(nics.rate),
                   fmt::format("--set node.nics.rate={:g}Gbps", logged * 1e-3)});
}

/// Fewer NICs than the scenario has are a cause. More NICs, or NICs of another kind, belong to another cluster.
void compare_nics(const NcclFacts& nccl, const World& world, std::vector<Contradiction>& found) {
  const NodeSpec& node = world.scenario().node.spec;
  // On one node NCCL lists NICs as well, but no collective uses them.
  if (world.scenario().cluster.nodes < 2) return;
  if (const auto logged = logged_link(nccl); logged && *logged != node.nics.link)
    found.push_back({nccl.line, "node.nics.link", std::string(name_of(*logged)), std::string(name_of(node.nics.link)),
                     fmt::format("--set node.nics.link={}", name_of(*logged))});
  if (const int used = nics_of_a_host(nccl, node.gpus); used > node.nics.count)
    found.push_back({nccl.line, "node.nics.count", std::to_string(used), std::to_string(node.nics.count),
                     fmt::format("--set node.nics.count={}", used)});
  compare_rate(nccl, node.nics, found);
}

/// Not compared if a table states the number of hosts. NCCL counts as nodes what shares neither memory nor NVLink, so
/// its nodes are hosts only with P2P and SHM on and without an NVLink domain. If communicators differ in size, none of
/// them needs to span the job.
void compare_communicator(const Imported& log, const World& world, std::vector<Contradiction>& found) {
  const NcclCommunicator comm = log.nccl.largest();
  const bool logged = std::any_of(log.tables.begin(), log.tables.end(), [](const LogTable& t) { return t.nodes > 0; });
  const auto set = [&](const char* name) {
    return log.nccl.env.contains(name) || world.scenario().nccl.env.contains(name);
  };
  const bool several = std::any_of(log.nccl.communicators.begin(), log.nccl.communicators.end(),
                                   [&](const NcclCommunicator& other) { return other.ranks != comm.ranks; });
  if (logged || several || world.scenario().nvlink_domain.nodes > 1 || set("NCCL_P2P_DISABLE") ||
      set("NCCL_SHM_DISABLE"))
    return;
  compare_nodes(log.nccl.line, comm.nodes, world, found);
  compare_gpus(log.nccl.line, comm.ranks, comm.nodes, world, found);
}

/// Patch levels of a release are not compared: scenarios rarely state them.
void compare_version(int line, const std::string& logged, const World& world, std::vector<Contradiction>& found) {
  const Scenario& scenario = world.scenario();
  if (logged.empty() || !scenario.nccl.version_given) return;
  const GpuKind& gpu = scenario.hardware->gpus.at(scenario.node.spec.gpu);
  const auto read = parse_nccl_versions(logged, gpu.compute_capability);
  if (!read) return;
  const NcclVersions given = nccl_versions(scenario);
  const auto release = [](const NcclVersion& v) { return std::pair(v.major, v.minor); };
  if (release(read->first) >= release(given.first) && release(read->first) <= release(given.last)) return;
  found.push_back({line, "nccl.version", logged, scenario.nccl.version, fmt::format("--set nccl.version={}", logged)});
}

}  // namespace

std::vector<Contradiction> contradictions(const Imported& log, const World& world) {
  std::vector<Contradiction> all;
  for (const LogTable& table : log.tables) {
    compare_gpu(table, world, all);
    // A job has communicators of many shapes. Those that are no whole nodes of the scenario are left out later.
    if (!table.live) {
      compare_nodes(table.line, table.nodes, world, all);
      compare_gpus(table.line, table.ranks, table.nodes, world, all);
    }
    compare_processes(table, world, all);
    compare_version(table.line, table.nccl_version, world, all);
  }
  compare_version(log.nccl.line, log.nccl.version, world, all);
  compare_communicator(log, world, all);
  compare_nics(log.nccl, world, all);
  // Each table of a log repeats the same header, and each rank prints NCCL's lines.
  std::vector<Contradiction> once;
  for (Contradiction& c : all) {
    const auto same = [&](const Contradiction& o) { return o.key == c.key && o.log == c.log; };
    if (std::none_of(once.begin(), once.end(), same)) once.push_back(std::move(c));
  }
  return once;
}

std::string contradictions_text(const Scenario& scenario, const std::vector<Contradiction>& found) {
  std::string out = heading_line(scenario.name) + "no verdict: the log does not match the scenario\n";
  for (const Contradiction& c : found) {
    out += fmt::format("  {}: the log states {} (line {}), the scenario states {}\n", c.key, c.log, c.line, c.scenario);
    if (!c.hint.empty()) out += fmt::format("    {}\n", c.hint);
  }
  return out;
}

std::string contradictions_json(const Scenario& scenario, const std::vector<Contradiction>& found) {
  using Json = nlohmann::ordered_json;
  // `null` and not `false`: the cluster was not judged.
  Json j{{"fabricast", version_text()}, {"name", scenario.name}, {"healthy", nullptr}};
  for (const Contradiction& c : found)
    j["contradictions"].push_back(
        {{"key", c.key}, {"line", c.line}, {"log", c.log}, {"scenario", c.scenario}, {"hint", c.hint}});
  return j.dump(1) + "\n";
}

}  // namespace fabricast
