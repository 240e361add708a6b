// (1) of contended.hpp. Ports have few different rows of connections, and links are compared with each row once.
#include "contended.hpp"

#include <algorithm>

#include "loads.hpp"

namespace fabricast {

namespace {

struct PortRow {
  std::span<const double> connections;  ///< by channel
  double all = 0;                       ///< of all channels
  double rate = 0;                      ///< B/s of the fastest port with this row
};

/// The rows of ports, the one with the most connections first, without those that another row exceeds in every channel.
std::vector<PortRow> rows_of_ports(const FabricCount& count, const Fabric& fabric, const Router& router,
                                   const NetworkSegment& segment) {
  std::vector<PortRow> rows;
  for (const FabricCount::Group& group : count.groups()) {
    if (!is_port(fabric, group.resource)) continue;
    PortRow row{count.connections(group), 0, rate_of(fabric, router, segment, group.resource)};
    for (const double n : row.connections) row.all += n;
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const PortRow& a, const PortRow& b) { return a.all > b.all; });
  std::vector<PortRow> kept;
  for (const PortRow& row : rows) {
    const auto exceeds = [&](const PortRow& other) {
      return other.rate == row.rate &&
             std::equal(row.connections.begin(), row.connections.end(), other.connections.begin(), std::less_equal<>());
    };
    if (std::none_of(kept.begin(), kept.end(), exceeds)) kept.push_back(row);
  }
  return kept;
}

}  // namespace

std::vector<bool> contended_groups(const FabricCount& count, const Plan& plan, const Fabric& fabric,
                                   const Router& router, const NetworkSegment& segment) {
  std::vector<bool> contended(count.groups().size(), false);
  if (segment.contended >= 1) return contended;
  const std::vector<PortRow> rows = rows_of_ports(count, fabric, router, segment);
  const bool pairs = is_point_to_point(plan.op);
  for (std::size_t g = 0; g < contended.size(); ++g) {
    const FabricCount::Group& group = count.groups()[g];
    if (is_port(fabric, group.resource)) continue;
    const std::span<const double> on = count.connections(group);
    double all = 0;
    for (const double n : on) all += n;
    const double rate = pairs ? rate_of(fabric, router, segment, group.resource) : 0;
    contended[g] = std::none_of(rows.begin(), rows.end(), [&](const PortRow& row) {
      const double slower = pairs && row.rate > 0 ? std::min(1.0, rate / row.rate) : 1;
      // Rows come in the order of their sums, and most cannot reach the link's whatever its channels.
      if (row.all * slower < all * (1 - 1e-9)) return false;
      double of_port = 0;
      for (std::size_t c = 0; c < on.size(); ++c)
        if (on[c] > 0) of_port += row.connections[c];
      return of_port * slower >= all * (1 - 1e-9);
    });
  }
  return contended;
}

}  // namespace fabricast
