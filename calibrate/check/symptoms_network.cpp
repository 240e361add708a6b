// Causes in NICs, cables and switches.
//
// Links are those of the first node. The fabric is symmetric, so a fault of any other node has nearly the same effect
// on times; the slow host itself is found by places.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "symptoms.hpp"

namespace fabricast {

std::string faults_word(const World& w, const std::vector<std::string>& links, int percent) {
  std::string list;
  const auto add = [&](const std::string& fault) {
    if (!list.empty()) list += ", ";
    list += fault;
  };
  // `--set faults=` replaces the whole list, so faults that the scenario states are repeated.
  for (const FaultSpec& f : w.scenario().faults)
    add(fmt::format("{{link: '{}', rate: {}, at: {}s, until: {}s}}", f.target(), f.rate.value, f.at.value,
                    f.until.value));
  for (const std::string& link : links) add(fmt::format("{{link: {}, rate: {}%}}", link, percent));
  return fmt::format("faults=[{}]", list);
}

/// One link at fractions of its rate: a cable or port that fell back to a lower rate, or that loses rate to errors.
static Symptoms slow_link(const World& w, const std::string& link, std::string_view what,
                          std::initializer_list<int> percents) {
  Symptoms list;
  if (!networked(w)) return list;
  for (const int percent : percents)
    list.push_back({fmt::format("{} at {} % of its rate", what, percent), {faults_word(w, {link}, percent)}});
  return list;
}

Symptoms slow_nics(const World& w) {
  // A fallback of the link halves the rate once or several times; errors leave any rate. The steps are a factor of 1.2
  // to 1.5.
  return slow_link(w, "node0.nic0", "one NIC", {75, 60, 50, 40, 32, 25, 20, 16, 12, 9, 6});
}

/// The link of a NIC's slot: `pcie0-nic0`.
static std::string slot_of_first_nic(const World& w) {
  const NodeGraph& graph = comm_of(w).node.graph;
  for (std::uint16_t l = 0; l < graph.link_count(); ++l)
    if (graph.links[l].to == graph.nic(0)) return graph.link_name(l);
  return {};
}

Symptoms slow_slots(const World& w) {
  // Half the lanes and one PCIe generation less each halve the rate.
  return networked(w) ? slow_link(w, "node0." + slot_of_first_nic(w), "PCIe of one NIC", {50, 25, 12}) : Symptoms{};
}

/// Sockets over the NICs of the fabric, or over one other interface, as of a management network or a virtual machine.
Symptoms by_sockets(const World& w) {
  Symptoms list;
  if (!rdma(w)) return list;
  // NCCL falls back to sockets if the IB plugin finds no device. It then uses the interfaces it finds: often the
  // Ethernet ports of the same NICs, sometimes only that of the management network.
  list.push_back({"TCP sockets", {env_word("NCCL_NET", "Socket")}});
  for (const int gigabits : {100, 40, 25, 10})
    list.push_back({fmt::format("TCP sockets over one interface of {} Gb/s", gigabits),
                    {fmt::format("node.nics={{count: 1, rate: {}Gbps, link: socket}}", gigabits)}});
  return list;
}

Symptoms few_nics(const World& w) {
  Symptoms list;
  if (!networked(w)) return list;
  // Every number up to eight NICs, in larger steps above.
  for (int n = nics_of(w).count - 1; n >= 1; n -= std::max(1, n / 4))
    list.push_back({fmt::format("{} of {} NICs in use", n, nics_of(w).count), {fmt::format("node.nics.count={}", n)}});
  return list;
}

Symptoms collisions(const World& w) {
  Symptoms list;
  if (!networked(w) || w.scenario().fabric.kind == 0) return list;
  // Where the scenario routes by hash, samples of the forecast contain collisions already, and only the quantile
  // changes. On an adaptive fabric, hashing itself is the fault: adaptive routing is off for this traffic.
  const NetworkSetup& setup = w.setup();
  const bool hashed = setup.policy->name == "static" || setup.paths() == PathKind::by_chance;
  const std::vector<std::string> set =
      hashed ? std::vector<std::string>{} : std::vector<std::string>{"routing.kind=ecmp", "routing.seeds=16"};
  if (!hashed) list.push_back({"paths chosen by hash, not by load", set, 0.5});
  list.push_back({"bad hash collisions (95th percentile)", set, 0.95});
  list.push_back({"the worst sample of hash collisions", set, 1});
  return list;
}

Symptoms thin_uplinks(const World& w) {
  Symptoms list;
  if (!networked(w)) return list;
  for (const int n : {2, 3, 4, 8})
    list.push_back({fmt::format("leaves oversubscribed {}:1", n), {fmt::format("fabric.oversubscription={}", n)}});
  return list;
}

/// Traffic of other jobs leaves a fraction of every uplink. A loss below a quarter cannot be distinguished from noise.
Symptoms busy_uplinks(const World& w) {
  Symptoms list;
  if (!networked(w) || !w.fabric() || w.fabric()->find_links("uplinks").empty()) return list;
  for (const int percent : {75, 50, 30, 15})
    list.push_back(
        {fmt::format("other jobs leave {} % of every uplink", percent), {faults_word(w, {"uplinks"}, percent)}});
  return list;
}

}  // namespace fabricast
