// Evidence from NCCL's own lines: variables, transports of connections, NICs, algorithms [NCCL-log] [NCCL-env].
//
// Times often cannot separate causes that NCCL's log names outright, for example staging in host memory from a slow
// NIC. `state` is for what NCCL did, `hint` for what merely suggests a cause (evidence.hpp). The same line may confirm
// a cause or rule it out; a log that does not mention it leaves the prior unchanged.
#include <algorithm>
#include <set>

#include "evidence.hpp"

namespace fabricast {

namespace {

class NcclEvidence {
 public:
  NcclEvidence(Weights& weights, const NcclFacts& log, const World& world)
      : weights_(weights), log_(log), world_(world), comm_(world.planner().comm) {}

  /// The order matters: connections replace what variables suggested.
  void weigh() {
    variables();
    network();
    peers();
    nics();
    choices();
    topology();
  }

 private:
  std::string value(const char* name) const {
    const auto it = log_.env.find(name);
    return it == log_.env.end() ? std::string() : it->second;
  }
  /// Whether the log sets the variable to a value that the scenario does not set.
  bool forced(const char* name) const {
    const auto given = world_.scenario().nccl.env.find(name);
    return log_.env.contains(name) && (given == world_.scenario().nccl.env.end() || given->second != value(name));
  }
  bool forced_to(const char* name, std::initializer_list<std::string_view> values) const {
    return forced(name) && std::find(values.begin(), values.end(), value(name)) != values.end();
  }

  void variables() {
    // NCCL lists the variables that it found, so one that is not listed is most likely not set.
    const bool lists = !log_.env.empty();
    const auto force = [&](Cause cause, const char* name) {
      weights_.hint(cause, false, lists && !log_.env.contains(name));
      weights_.state(cause, forced(name), false);
    };
    force(Cause::algorithm_forced, "NCCL_ALGO");
    force(Cause::protocol_forced, "NCCL_PROTO");
    // Only a hint: the limit may lie above what NCCL uses anyway.
    weights_.hint(Cause::too_few_channels, forced("NCCL_MAX_NCHANNELS") || forced("NCCL_MAX_CTAS"),
                  log_.channels > 0 && log_.channels >= comm_.channels);
    weights_.state(Cause::no_p2p, forced_to("NCCL_P2P_DISABLE", {"1"}) || forced_to("NCCL_P2P_LEVEL", {"LOC", "0"}),
                   false);
    weights_.state(Cause::no_mnnvl, forced_to("NCCL_MNNVL_ENABLE", {"0"}), false);
    weights_.state(Cause::nvls_off, forced_to("NCCL_NVLS_ENABLE", {"0"}), false);
    weights_.state(Cause::pxn_off, forced_to("NCCL_PXN_DISABLE", {"1"}), false);
    weights_.state(Cause::sharp_off, forced_to("NCCL_COLLNET_ENABLE", {"0"}), false);
    weights_.state(Cause::sockets, forced_to("NCCL_IB_DISABLE", {"1"}) || forced_to("NCCL_NET", {"Socket"}), false);
    weights_.state(Cause::no_gdr,
                   forced_to("NCCL_NET_GDR_LEVEL", {"LOC", "0"}) || forced_to("NCCL_IB_GDR_LEVEL", {"LOC", "0"}),
                   false);
    // Often set to the full list of NICs or to exclude those of storage, so it proves nothing.
    weights_.hint(Cause::fewer_nics, forced("NCCL_IB_HCA"), false);
  }

  void network() {
    const NcclConnections net = log_.over_network();
    const bool socket =
        net.sockets > 0 || std::any_of(log_.networks.begin(), log_.networks.end(),
                                       [](const std::string& n) { return n.find("Socket") != std::string::npos; });
    // A log may hold several communicators. Connections over another transport show that not all of them use sockets.
    const bool sockets_alone = socket && net.other == 0;
    weights_.state(Cause::sockets, sockets_alone, !socket && (net.other > 0 || !log_.networks.empty()));
    // What connections use counts for more than what GPUs and NICs support. Sockets never use GPUDirect RDMA: then they
    // are the cause.
    const bool connected = net.gdr + net.staged > 0;
    const bool staged = connected ? net.gdr == 0 : log_.gdr_disabled > 0 && log_.gdr_enabled == 0;
    weights_.state(Cause::no_gdr, staged && !sockets_alone,
                   connected ? net.staged == 0 : log_.gdr_enabled > 0 && log_.gdr_disabled == 0);
    if (log_.pxn) weights_.state(Cause::pxn_off, !*log_.pxn, *log_.pxn);
    // Multicast support is necessary but not sufficient: only NVLS channels show that NVLS is in use.
    if (log_.nvls_multicast)
      weights_.state(Cause::nvls_off, !*log_.nvls_multicast, *log_.nvls_multicast && log_.nvls_channels > 0);
  }

  /// Connections between GPUs, inside a host and over NVLink between hosts.
  void peers() {
    const NcclPeers peers = log_.between_gpus();
    const NcclConnections net = log_.over_network();
    const NcclCommunicator comm = log_.largest();
    // On several hosts, connections over NICs are normal. On one host they mean that GPUs cannot reach each other.
    const bool one_host = comm.nodes == 1 && comm_.nodes() == 1;
    const bool by_nics = one_host && net.gdr + net.staged > 0 && peers.direct == 0;
    weights_.hint(Cause::no_p2p, log_.peers_refused > 0, false);
    weights_.state(Cause::no_p2p, (peers.host_memory > 0 && peers.direct == 0) || by_nics,
                   peers.direct > 0 && peers.host_memory == 0 && !(one_host && net.gdr + net.staged > 0));
    if (comm_.node.hosts > 1) {
      // What NCCL decided counts first. Connections over NVLink between hosts, or a failure, replace it.
      if (log_.mnnvl) weights_.state(Cause::no_mnnvl, !*log_.mnnvl, *log_.mnnvl);
      weights_.state(Cause::no_mnnvl, log_.mnnvl_broken, peers.across_hosts > 0);
    }
    // Connections within a process do not show whether each GPU has a thread or one thread drives several.
    weights_.hint(Cause::one_process, peers.same_process > 0, false);
    weights_.state(Cause::one_process, false, peers.direct > 0 && peers.same_process == 0);
  }

  /// The number of NICs of a node that the rings and trees of the forecast use.
  std::size_t expected_nics() const {
    // Not the number of NICs of the node: NCCL may leave some unused, and they are not missing.
    std::set<int> numbers;
    for (const SearchGraph* graph : {&world_.planner().graphs.ring, &world_.planner().graphs.tree})
      for (const ChannelShape& shape : graph->shapes)
        for (const int nic : {shape.nic_in, shape.nic_out})
          if (nic >= 0) numbers.insert(nic);
    return numbers.size();
  }

  /// Whether the NICs that NCCL uses came up at different rates.
  bool unlike_speeds() const {
    std::set<std::int64_t> speeds;
    for (const NcclNic& nic : log_.nics)
      if (const auto it = log_.nic_speeds.find(nic.name); it != log_.nic_speeds.end()) speeds.insert(it->second);
    return speeds.size() > 1;
  }

  void nics() {
    // An interface of sockets is not a NIC of the fabric.
    const auto listed = static_cast<int>(
        std::count_if(log_.nics.begin(), log_.nics.end(), [](const NcclNic& nic) { return nic.kind != "Socket"; }));
    // A node of the model may be an NVLink domain of several hosts. Logs count NICs by host.
    const int there = comm_.node.nics / comm_.node.hosts;
    const int expected = static_cast<int>(expected_nics()) / comm_.node.hosts;
    const auto used = log_.over_network().sockets > 0 ? 0 : static_cast<int>(log_.nics_in_use().size());
    // If few ranks print, the NICs of the others are unknown.
    const bool whole_host = log_.ranks_that_print() * comm_.node.hosts >= comm_.gpus();
    const bool fewer_used = whole_host && used > 0 && used < expected;
    weights_.hint(Cause::slow_nic, unlike_speeds(), false);
    weights_.hint(Cause::fewer_nics, fewer_used, !fewer_used && listed >= there);
    weights_.state(Cause::fewer_nics, listed > 0 && listed < there, false);
  }

  /// Compares NCCL's choices with those of the forecast, for operations whose bytes NCCL counts as nccl-tests does.
  void choices() {
    constexpr std::size_t most = 64;
    int compared = 0, other_algorithm = 0, other_protocol = 0, fewer_channels = 0, channels_stated = 0;
    for (std::size_t i = 0; i < std::min(most, log_.choices.size()); ++i) {
      const NcclChoice& choice = log_.choices[i];
      const auto op = enum_from<CollectiveOp>(choice.operation);
      if (op != CollectiveOp::all_reduce && op != CollectiveOp::broadcast && op != CollectiveOp::reduce) continue;
      if (choice.bytes < 1 || choice.bytes > largest_size.value) continue;
      const Plan plan = plan_collective(world_.planner(), *op, choice.bytes);
      ++compared;
      const bool same = name_of(plan.algorithm) == choice.algorithm;
      other_algorithm += !same;
      other_protocol += name_of(plan.protocol) != choice.protocol;
      // The number of channels is comparable only for the same algorithm.
      if (!same || choice.channels == 0) continue;
      ++channels_stated;
      fewer_channels += 2 * choice.channels < plan.channels;
    }
    if (compared == 0) return;
    // If the variable is set, variables() has stated the cause, and a hint must not replace a statement.
    if (!forced("NCCL_ALGO")) weights_.hint(Cause::algorithm_forced, 2 * other_algorithm > compared, false);
    if (!forced("NCCL_PROTO")) weights_.hint(Cause::protocol_forced, 2 * other_protocol > compared, false);
    weights_.state(Cause::algorithm_forced, false, other_algorithm == 0);
    weights_.state(Cause::protocol_forced, false, other_protocol == 0);
    weights_.hint(Cause::too_few_channels, 2 * fewer_channels > channels_stated,
                  channels_stated > 0 && fewer_channels == 0);
  }

  void topology() {
    weights_.hint(Cause::vm_topology, log_.topology_missing || log_.unplaced_nics > 0, !log_.topology_file.empty());
    weights_.hint(Cause::acs, log_.acs_hint, false);
  }

  Weights& weights_;
  const NcclFacts& log_;
  const World& world_;
  const Communicator& comm_;
};

}  // namespace

void weigh_nccl(Weights& weights, const NcclFacts& log, const World& world) {
  // Line 0 means that the log has no line of NCCL's.
  if (log.line > 0) NcclEvidence(weights, log, world).weigh();
}

}  // namespace fabricast
