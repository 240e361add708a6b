// Follows forwarding tables by routing with `routing: {kind: lft}`, so that a check and a forecast agree.
#include "fabricast/discover/check_paths.hpp"

#include <algorithm>
#include <set>

#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/routing/routing.hpp"

namespace fabricast {

namespace {

/// One NIC of each leaf. From the leaf on, the routes of all its NICs are the same.
std::vector<std::uint32_t> sources(const Fabric& fabric) {
  std::vector<std::uint32_t> list;
  std::set<std::uint32_t> leaves;
  for (std::uint32_t l = 0; l < fabric.links(); l += 2) {
    const Fabric::Link ends = fabric.link(LinkId(l));
    if (fabric.is_endpoint(ends.from) && leaves.insert(ends.to.value).second) list.push_back(ends.from.value);
  }
  return list;
}

}  // namespace

PathsChecked check_paths(const FileFabric& contents, const ForwardingTables& tables) {
  constexpr std::size_t most_faults = 20;
  PathsChecked result;
  if (contents.hosts.empty()) return result;
  FileFabricSpec spec;
  static_cast<FileFabric&>(spec) = contents;
  FabricDemand demand;
  demand.nodes = static_cast<std::uint32_t>(contents.hosts.size());
  demand.ports_per_node = static_cast<std::uint32_t>(contents.hosts.front().nics.size());
  // The same builder and router as in a forecast, without faults.
  const Fabric fabric = find_by_name(topologies(), "file")->build(spec, demand);
  LftSpec lft;
  lft.tables = std::make_shared<ForwardingTables>(tables);
  const LinkState state;
  const auto router = find_by_name(routing_policies(), "lft")->make(lft, fabric, state, 0);
  Path path;
  for (const std::uint32_t from : sources(fabric))
    // Every destination, because each has its own entries in the tables.
    for (std::uint32_t to = 0; to < fabric.endpoints(); ++to) {
      if (from == to) continue;
      ++result.routes;
      try {
        router->route({from, to, 0, 0}, path);
        result.longest = std::max(result.longest, static_cast<int>(path.resources.size()));
        // The router reports a wrong table as an error of the user. Here it is a finding, and the check goes on.
      } catch (const UserError& e) {
        ++result.broken;
        if (result.faults.size() < most_faults)
          result.faults.push_back(e.diagnostics().front().message + "; " + e.diagnostics().front().hint);
      }
    }
  return result;
}

}  // namespace fabricast
