// What may be wrong: a line of the table is a cause, with all the ways in which it may show.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

namespace {

using Symptoms = std::vector<Symptom>;

const Communicator& comm(const World& w) { return w.planner.comm; }
const NicSpec& nics(const World& w) { return w.scenario.node.spec.nics; }
bool networked(const World& w) { return comm(w).nodes() > 1; }
bool rdma(const World& w) { return networked(w) && nics(w).link != LinkKind::socket; }
constexpr auto one = one_if<Symptom>;

/// One link at parts of its rate: what a link, a cable or a port falls back to, and what errors leave of it.
Symptoms slow_link(const World& w, std::string_view link, std::string_view what, std::initializer_list<int> percents) {
  Symptoms list;
  if (!networked(w)) return list;
  for (const int percent : percents)
    list.push_back({fmt::format("{} at {} % of its rate", what, percent),
                    {fmt::format("faults=[{{link: {}, rate: {}%}}]", link, percent)}});
  return list;
}

/// The link of a NIC's slot: `pcie0-nic0`.
std::string slot_of_first_nic(const World& w) {
  const NodeGraph& graph = comm(w).node.graph;
  for (std::uint16_t l = 0; l < graph.links.size(); ++l)
    if (graph.links[l].to == graph.nic(0)) return graph.link_name(l);
  return {};
}

Symptoms collisions(const World& w) {
  Symptoms list;
  if (!networked(w) || w.scenario.fabric.kind == 0) return list;
  const bool hashed = w.setup.policy->name == "ecmp" || w.setup.policy->name == "static";
  const std::vector<std::string> set =
      hashed ? std::vector<std::string>{} : std::vector<std::string>{"routing.kind=ecmp", "routing.seeds=16"};
  if (!hashed) list.push_back({"ways by hash, not by load", set, 0.5});
  list.push_back({"an unlucky hash of the connections", set, 0.95});
  list.push_back({"the unluckiest of the draws of the hash", set, 1});
  return list;
}

Symptoms other_algorithms(const World& w) {
  Symptoms list;
  for (const Algorithm a : {Algorithm::ring, Algorithm::tree, Algorithm::nvlstree, Algorithm::nvls})
    list.push_back({fmt::format("NCCL_ALGO={}", name_of(a)), {env_word("NCCL_ALGO", name_of(a))}});
  // Without NVSwitch or SHARP NCCL would not start with these.
  if (comm(w).heads.size() < 2) list.resize(2);
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
  for (const int n : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24})
    if (n < comm(w).channels)
      list.push_back(
          {fmt::format("at most {} channels", n), {env_word("NCCL_MAX_NCHANNELS", n), env_word("NCCL_MAX_CTAS", n)}});
  return list;
}

Symptoms few_nics(const World& w) {
  Symptoms list;
  if (!networked(w)) return list;
  for (int n = nics(w).count - 1; n >= 1; n -= std::max(1, n / 4))
    list.push_back({fmt::format("{} of {} NICs in use", n, nics(w).count), {fmt::format("node.nics.count={}", n)}});
  return list;
}

Symptoms thin_uplinks(const World& w) {
  Symptoms list;
  if (!networked(w)) return list;
  for (const int n : {2, 3, 4, 8})
    list.push_back({fmt::format("leaves oversubscribed {}:1", n), {fmt::format("fabric.oversubscription={}", n)}});
  return list;
}

constexpr std::array kinds = {
    CauseKind{Cause::healthy, "as fast as the hardware allows", 20, 0, "",
              [](const World&) {
                return Symptoms{{"nothing is wrong", {}}};
              }},
    CauseKind{
        Cause::no_gdr, "no GPUDirect RDMA: data go through host memory", 1, 0.25,
        "NCCL_DEBUG=INFO shows no GDRDMA; lsmod | grep nvidia_peermem; fabricast doctor",
        [](const World& w) { return one(rdma(w) && comm(w).gdr, "data staged in host memory", {"node.gdr=false"}); }},
    CauseKind{Cause::sockets, "TCP sockets instead of RDMA", 1, 0.3,
              "NCCL_DEBUG=INFO shows NET/Socket; ibv_devinfo; ls /dev/infiniband",
              [](const World& w) { return one(rdma(w), "TCP sockets", {env_word("NCCL_NET", "Socket")}); }},
    CauseKind{Cause::slow_nic, "one NIC, its cable or its switch port is slow", 1.5, 0,
              "ib_write_bw between pairs of nodes, NIC by NIC; rate in ibstat; symbol errors in perfquery",
              [](const World& w) {
                return slow_link(w, "node0.nic0", "one NIC", {75, 60, 50, 40, 32, 25, 20, 16, 12, 9, 6});
              }},
    CauseKind{Cause::numa_mismatch, "processes use NICs of the other socket", 1, 0.15,
              "nvidia-smi topo -m against the NICs that NCCL_DEBUG=INFO names; NCCL_TOPO_DUMP_FILE",
              [](const World& w) {
                return one(networked(w) && w.scenario.node.spec.sockets > 1, "NICs across the sockets",
                           {"node.nics.numa=remote"});
              }},
    CauseKind{Cause::ecmp_collision, "connections share links by their hash", 1.5, 0.1,
              "run again: times change from start to start; counters of the uplinks; NCCL_IB_QPS_PER_CONNECTION=4",
              collisions},
    CauseKind{Cause::pxn_off, "PXN is off", 0.5, 0.05, "env | grep NCCL_PXN; NCCL_DEBUG=INFO shows no PXN",
              [](const World& w) { return one(networked(w), "no PXN", {env_word("NCCL_PXN_DISABLE", 1)}); }},
    CauseKind{Cause::nvls_off, "NVLS is off", 1, 0.05,
              "NCCL_DEBUG=INFO shows no NVLS multicast; nvidia-smi -q | grep -i fabric; env | grep NCCL_NVLS",
              [](const World& w) {
                return one(comm(w).heads.size() > 1, "no reduction in the NVSwitch", {env_word("NCCL_NVLS_ENABLE", 0)});
              }},
    CauseKind{Cause::sharp_off, "SHARP is off", 1, 0.05,
              "NCCL_DEBUG=INFO shows no CollNet; sharp_hello; the aggregation manager's log",
              [](const World& w) {
                return one(networked(w) && w.planner.settings.collnet_enable && comm(w).sharp.available(),
                           "no reduction in the switches", {env_word("NCCL_COLLNET_ENABLE", 0)});
              }},
    CauseKind{Cause::algorithm_forced, "another algorithm than NCCL's choice", 0.5, 0.05,
              "env | grep NCCL_ALGO; /etc/nccl.conf; ~/.nccl.conf; NCCL_TUNER_PLUGIN", other_algorithms},
    CauseKind{Cause::protocol_forced, "another protocol than NCCL's choice", 0.5, 0.05,
              "env | grep NCCL_PROTO; /etc/nccl.conf; ~/.nccl.conf; NCCL_TUNER_PLUGIN", other_protocols},
    CauseKind{Cause::too_few_channels, "too few channels", 0.5, 0.05,
              "env | grep -E 'NCCL_(MAX|MIN)_(NCHANNELS|CTAS)'; channels in NCCL_DEBUG=INFO", few_channels},
    CauseKind{Cause::fewer_nics, "fewer NICs in use than there are", 1, 0.05,
              "NET/IB lines of NCCL_DEBUG=INFO; env | grep NCCL_IB_HCA; ibstat", few_nics},
    CauseKind{Cause::oversubscription, "leaves have fewer uplinks than thought", 1, 0.1,
              "count uplinks that are up; the same nodes under one leaf are faster", thin_uplinks},
    CauseKind{Cause::degraded_pcie, "a NIC's PCIe slot runs at fewer lanes or an older generation", 0.7, 0,
              "lspci -vv -s NIC | grep LnkSta; fabricast doctor",
              [](const World& w) {
                return networked(w) ? slow_link(w, "node0." + slot_of_first_nic(w), "PCIe of one NIC", {50, 25, 12})
                                    : Symptoms{};
              }},
};
static_assert(kinds.size() == EnumNames<Cause>::names.size());

}  // namespace

std::span<const CauseKind> cause_kinds() { return kinds; }

}  // namespace fabricast
