// Findings on a fabric, by comparison of like with like: the most common value counts as intended.
//
// No file states what a fabric was meant to be. A fabric is regular, so a link, a switch or a host that differs from
// most of its kind is probably a fault, and the operator should look at it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/discover/fabric.hpp"

namespace fabricast {

namespace {

constexpr int nic_tier = -1;

/// Tiers by name; `nic_tier` for NICs.
class Tiers {
 public:
  explicit Tiers(const FileFabric& fabric) {
    for (const FileFabricSwitch& s : fabric.switches) tier_.emplace(s.name, static_cast<int>(s.tier));
  }
  int of(const std::string& name) const {
    const auto it = tier_.find(name);
    return it == tier_.end() ? nic_tier : it->second;
  }
  static std::string_view text(int tier) { return tier == nic_tier ? "NIC" : name_of(static_cast<Tier>(tier)); }

 private:
  std::unordered_map<std::string, int> tier_;
};

/// The most frequent key, and the largest one if several are equally frequent.
template <class Key>
Key most_common(const std::map<Key, int>& count) {
  Key best{};
  int most = 0;
  for (const auto& [key, n] : count)
    if (n >= most) {
      best = key;
      most = n;
    }
  return best;
}

class Findings {
 public:
  explicit Findings(const FileFabric& fabric) : fabric_(fabric), tiers_(fabric) {}

  std::vector<Diagnostic> find() {
    slow_links();
    uneven_uplinks();
    hosts_on_fewer_switches();
    return std::move(list_);
  }

 private:
  void warn(std::string message, std::string hint = {}) {
    list_.push_back({Diagnostic::Severity::warning, {}, {}, std::move(message), std::move(hint)});
  }

  // Links between the same two tiers should have one rate. A slower one has lost lanes or runs at a lower speed.
  void slow_links() {
    std::map<std::pair<int, int>, std::map<double, int>> rates;
    for (const FileFabricLink& link : fabric_.links)
      rates[{tiers_.of(link.from), tiers_.of(link.to)}][link.rate.value] += link.count;
    for (const FileFabricLink& link : fabric_.links) {
      const double usual = most_common(rates[{tiers_.of(link.from), tiers_.of(link.to)}]);
      if (link.rate.value >= usual) continue;
      const auto port = [](int number) { return number > 0 ? fmt::format(" port {}", number) : std::string(); };
      warn(fmt::format("{}{} to {}{} runs at {}, but most such links run at {}", link.from, port(link.from_port),
                       link.to, port(link.to_port), to_text(link.rate), to_text(BytesPerSecond{usual})),
           "the width or speed is degraded, or the cable is of a different kind");
    }
  }

  // Switches of one tier should have equally many cables up. Missing ones are broken or were never connected.
  void uneven_uplinks() {
    std::unordered_map<std::string, int> up;
    for (const FileFabricLink& link : fabric_.links)
      if (tiers_.of(link.from) != nic_tier && tiers_.of(link.from) < tiers_.of(link.to)) up[link.from] += link.count;
    std::map<int, std::map<int, int>> counts;
    for (const FileFabricSwitch& s : fabric_.switches) ++counts[static_cast<int>(s.tier)][up[s.name]];
    for (const FileFabricSwitch& s : fabric_.switches) {
      const int usual = most_common(counts[static_cast<int>(s.tier)]);
      if (up[s.name] < usual)
        warn(fmt::format("{} has {} cables up, but most {} switches have {}", s.name, up[s.name], name_of(s.tier),
                         usual));
    }
  }

  // On rails each NIC of a host is on a leaf of its own. A host on fewer leaves is cabled wrongly.
  void hosts_on_fewer_switches() {
    std::unordered_map<std::string, std::string> leaf;
    for (const FileFabricLink& link : fabric_.links)
      if (tiers_.of(link.from) == nic_tier) leaf[link.from] = link.to;
    std::map<int, int> counts;
    std::vector<int> switches;
    for (const FileFabricHost& host : fabric_.hosts) {
      std::set<std::string> distinct;
      for (const FileFabricNic& nic : host.nics) distinct.insert(leaf[host.name + "." + nic.name]);
      switches.push_back(static_cast<int>(distinct.size()));
      ++counts[switches.back()];
    }
    const int usual = most_common(counts);
    for (std::size_t h = 0; h < switches.size(); ++h)
      if (switches[h] < usual)
        warn(fmt::format("the NICs of {} are on {} switch{}, but those of most hosts are on {}", fabric_.hosts[h].name,
                         switches[h], switches[h] == 1 ? "" : "es", usual));
  }

  const FileFabric& fabric_;
  Tiers tiers_;
  std::vector<Diagnostic> list_;
};

// One line for each number of NIC ports, since hosts of another kind may be among them.
std::string hosts_text(const FileFabric& fabric) {
  if (fabric.hosts.empty()) return {};
  std::map<std::size_t, int> nics;
  for (const FileFabricHost& host : fabric.hosts) ++nics[host.nics.size()];
  std::string text;
  for (const auto& [count, hosts] : nics)
    text += fmt::format("hosts     {:>6}  {} each\n", hosts, counted(count, "NIC port"));
  return text;
}

}  // namespace

std::vector<Diagnostic> fabric_findings(const FileFabric& fabric) { return Findings(fabric).find(); }

std::string fabric_text(const FileFabric& fabric) {
  const Tiers tiers(fabric);
  std::map<Tier, int> switches;
  for (const FileFabricSwitch& s : fabric.switches) ++switches[s.tier];
  std::map<std::tuple<int, int, double>, int> cables;
  for (const FileFabricLink& link : fabric.links)
    cables[{tiers.of(link.from), tiers.of(link.to), link.rate.value}] += link.count;
  std::string text = hosts_text(fabric);
  for (const auto& [tier, count] : switches) text += fmt::format("switches  {:>6}  {}\n", count, name_of(tier));
  for (const auto& [key, count] : cables) {
    const auto& [from, to, rate] = key;
    text += fmt::format("cables    {:>6}  {} to {}{}\n", count, Tiers::text(from), Tiers::text(to),
                        rate > 0 ? ", " + to_text(BytesPerSecond{rate}) : "");
  }
  return text;
}

}  // namespace fabricast
