// The selection of the hosts of a fabric, and their order (discover/fabric.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/discover/fabric.hpp"

namespace fabricast {

namespace {

Diagnostic warning(std::string message, std::string hint = {}) {
  return {Diagnostic::Severity::warning, {}, {}, std::move(message), std::move(hint)};
}

/// "a, b, c and 4 more", for messages.
std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  const std::vector<std::string_view> first(names.begin(),
                                            names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  return join(first) + (names.size() > most ? fmt::format(" and {} more", names.size() - most) : "");
}

// The order of the names is kept, because NIC n of the scenario is the n-th of them.
void keep_nics(FileFabricHost& host, const std::vector<std::string>& names) {
  std::vector<FileFabricNic> kept;
  for (const std::string& name : names)
    for (const FileFabricNic& nic : host.nics)
      if (nic.name == name) kept.push_back(nic);
  host.nics = std::move(kept);
}

/// The most common number of NIC ports, and the largest one if several are equally common.
// Compute hosts are assumed to be in the majority.
int most_common_count(const std::vector<FileFabricHost>& hosts) {
  std::map<std::size_t, int> count;
  for (const FileFabricHost& host : hosts) ++count[host.nics.size()];
  std::size_t best = 0;
  for (const auto& [nics, n] : count)
    if (nics > 0 && (best == 0 || n >= count[best])) best = nics;
  return static_cast<int>(best);
}

/// `node1` of `node1.cluster.org`.
std::string_view without_domain(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace

// All nodes of a job have equally many NIC ports. Login nodes, storage, and hosts that lost a NIC have others.
void choose_hosts(FileFabric& fabric, int nics, const std::vector<std::string>& names,
                  std::vector<Diagnostic>& warnings) {
  if (fabric.hosts.empty()) return;
  // Cables of NICs that are not kept disappear as well; those between switches are not in these sets.
  std::unordered_set<std::string> known, kept;
  for (FileFabricHost& host : fabric.hosts) {
    for (const FileFabricNic& nic : host.nics) known.insert(host.name + "." + nic.name);
    if (!names.empty()) keep_nics(host, names);
  }
  if (nics == 0) nics = most_common_count(fabric.hosts);
  std::vector<std::string> others;
  std::erase_if(fabric.hosts, [&](const FileFabricHost& host) {
    if (nics > 0 && static_cast<int>(host.nics.size()) == nics) return false;
    others.push_back(fmt::format("{} ({})", host.name, host.nics.size()));
    return true;
  });
  if (!others.empty())
    warnings.push_back(warning(fmt::format("left out {} whose number of NIC ports is not {}: {}",
                                           counted(others.size(), "host"), nics, some(others))));
  for (const FileFabricHost& host : fabric.hosts)
    for (const FileFabricNic& nic : host.nics) kept.insert(host.name + "." + nic.name);
  std::erase_if(fabric.links,
                [&](const FileFabricLink& link) { return known.contains(link.from) && !kept.contains(link.from); });
}

void order_hosts(FileFabric& fabric, const std::vector<std::string>& order, std::vector<Diagnostic>& warnings) {
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < order.size(); ++i) place.emplace(order[i], i);
  std::unordered_set<std::size_t> found;
  std::vector<std::string> unlisted;
  // The full name first, so that equal names in two domains stay apart.
  const auto place_of = [&](const FileFabricHost& host) {
    auto it = place.find(host.name);
    if (it == place.end()) it = place.find(without_domain(host.name));
    return it == place.end() ? order.size() : it->second;
  };
  for (const FileFabricHost& host : fabric.hosts) {
    const std::size_t at = place_of(host);
    if (at == order.size()) unlisted.push_back(host.name);
    found.insert(at);
  }
  std::stable_sort(fabric.hosts.begin(), fabric.hosts.end(),
                   [&](const FileFabricHost& a, const FileFabricHost& b) { return place_of(a) < place_of(b); });
  if (!unlisted.empty())
    warnings.push_back(
        warning(fmt::format("{} {} last: {}", unlisted.size(),
                            unlisted.size() == 1 ? "host of the fabric is not in the list of hosts and comes"
                                                 : "hosts of the fabric are not in the list of hosts and come",
                            some(unlisted))));
  std::vector<std::string> absent;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (!found.contains(i)) absent.push_back(order[i]);
  if (!absent.empty())
    warnings.push_back(warning(fmt::format("{} listed {} not on the fabric: {}", absent.size(),
                                           absent.size() == 1 ? "host is" : "hosts are", some(absent))));
}

}  // namespace fabricast
