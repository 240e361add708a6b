// (1) of fabric_count.hpp, by the cheapest method that applies:
//
//   closed form   all pairs of nodes are alike, and the router can split their flows           (pair_count.hpp)
//   planes        many links are crossed, and no count is above 255                            (channel_planes.hpp)
//   by channel    the rest: a list of what a channel crosses, or an array                      (channel_count.hpp)
//
// Each method counts integers and converts them to connections at the very end, so no sum is rounded. Each visits the
// links once, in ascending order, and numbers a group when it meets its first link.
#include "fabric_count.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include "crossings.hpp"
#include "fabricast/core/parallel.hpp"
#include "group_table.hpp"
#include "pair_count.hpp"

namespace fabricast {

std::uint64_t kind_of(const FabricCount::Input& in, std::uint32_t resource, bool port) {
  // With faults, links of one class may differ in rate. Then the kind is the rate, and the count serves this network
  // only. Without faults it is the class, so the count serves all hardware. Ports have their own kinds, because an
  // operation may reach a smaller fraction of their rate than of other links (`NetworkSegment::ports`).
  if (!in.segment.links.all_nominal())
    return std::bit_cast<std::uint64_t>(rate_of(in.fabric, in.router, in.segment, resource));
  if (resource < in.fabric.links()) return 2U * in.fabric.class_index(LinkId(resource)) + (port ? 1U : 0U);
  const Router::Bundle bundle = in.router.bundle(resource - in.fabric.links());
  const std::uint64_t of_first = bundle.count ? in.fabric.class_index(LinkId(bundle.first)) : 0;
  return std::uint64_t{1} << 63 | of_first << 32 | bundle.count;
}

namespace {

std::uint32_t resources_of(const FabricCount::Input& in) { return in.fabric.links() + in.router.bundles(); }

/// Connections per unit of a count. \param weighted  counts are in `weight_unit`
double unit_of(const FabricCount::Input& in, bool weighted) {
  return (weighted ? weight_unit : 1.0) / (in.comm.qps_per_connection * message_weight_of(in.plan));
}

struct Plane {
  bool blocked = false;
  bool fits = true;  ///< every count fits in a byte
};

Plane count_plane(const FabricCount::Input& in, const EdgeSets& sets, std::uint32_t channel, ChannelPlanes& planes) {
  Plane plane;
  plane.blocked = cross_between_ports(in, sets, channel, [&](std::uint32_t resource, std::uint64_t count) {
    plane.fits &= planes.add(channel, resource, count);
  });
  return plane;
}

}  // namespace

FabricCount::FabricCount(const Input& input, std::shared_ptr<const EdgeSets> sets)
    : sets_(std::move(sets)), channels_(static_cast<std::size_t>(input.plan.channels)), shapes_(channels_) {
  if (!count_in_closed_form(input) && !count_in_planes(input)) count_by_channel(input);
  groups_of_.close();
}

FabricCount::FabricCount(const Input& input, std::vector<ChannelCount> counts, std::vector<bool> blocked, bool weighted)
    : channels_(static_cast<std::size_t>(input.plan.channels)),
      shapes_(channels_),
      blocked_(std::move(blocked)),
      trips_(channels_) {
  collect_channels(input, counts, unit_of(input, weighted));
  groups_of_.close();
}

bool FabricCount::count_in_closed_form(const Input& input) {
  std::optional<PairCount> found = count_pairs(input);
  if (!found) return false;
  FABRICAST_CHECK(!sets_, "the closed form counts ports itself");
  blocked_.assign(channels_, false);
  trips_.assign(channels_, found->trips);
  // All channels are alike: these are sends and receives, which have one stream.
  const std::vector<std::uint64_t>& counts = found->counts;
  groups_of_ = GroupMap(resources_of(input), counts.size());
  const double unit = unit_of(input, found->weighted);
  for (std::uint32_t r = 0; r < counts.size(); ++r)
    if (counts[r] > 0) collect(input, r, std::vector<double>(channels_, static_cast<double>(counts[r]) * unit));
  return true;
}

bool FabricCount::count_in_planes(const Input& input) {
  const std::uint32_t resources = resources_of(input);
  // Planes are cleared and read over all links of the fabric, which is too expensive for a small group on a large
  // fabric.
  if (!sets_ || !GroupMap::fills_array(resources, sets_->crossings()) || channels_ > ChannelPlanes::most_channels)
    return false;
  ChannelPlanes planes(2 * input.fabric.endpoints(), resources, channels_);
  // Bytes, not bits, because several threads write at once.
  std::vector<std::uint8_t> blocked(channels_, 0);
  std::atomic<bool> fits = true;
  in_parallel(channels_, input.threads, [&](std::size_t c) {
    const Plane plane = count_plane(input, *sets_, static_cast<std::uint32_t>(c), planes);
    blocked[c] = plane.blocked;
    if (!plane.fits) fits = false;
  });
  // Everything is then counted again, by channel. Nothing has been stored so far.
  if (!fits) return false;
  blocked_.assign(blocked.begin(), blocked.end());
  trips_.resize(channels_);
  groups_of_ = GroupMap(resources, sets_->crossings());
  if (channels_ <= 8)
    collect_planes<1>(input, planes);
  else if (channels_ <= 16)
    collect_planes<2>(input, planes);
  else if (channels_ <= 32)
    collect_planes<4>(input, planes);
  else
    collect_planes<8>(input, planes);
  return true;
}

namespace {

template <std::size_t W>
struct CrossedLink {
  CountRow<W> counts{};
  std::uint64_t kind = 0, hash = 0;
  std::uint32_t resource = 0;
};

}  // namespace

template <std::size_t W>
void FabricCount::collect_planes(const Input& input, const ChannelPlanes& planes) {
  // No fractions of connections: routers that allow edge sets send whole queue pairs over a link or a bundle.
  const double unit = 1.0 / input.comm.qps_per_connection;
  collect_ports(input, unit);
  GroupTable<W> table;
  std::vector<double> connections(channels_);
  const auto add = [&](const CrossedLink<W>& link) {
    auto& entry = table.find_or_add(link.hash, link.counts, link.kind);
    if (entry.group == no_group) {
      for (std::size_t c = 0; c < channels_; ++c) connections[c] = count_of(link.counts, c) * unit;
      entry.group = find_group(link.kind, find_shape(connections), link.resource);
    }
    ++entry.members;
    groups_of_.put(link.resource, entry.group);
  };
  // Links are collected in batches, so that their entries are prefetched from memory before they are read.
  std::array<CrossedLink<W>, 32> next;
  std::size_t gathered = 0;
  planes.for_each<W>([&](std::uint32_t resource, const CountRow<W>& counts) {
    const std::uint64_t kind = kind_of(input, resource, false), hash = table.hash_of(counts, kind);
    table.expect(hash);
    next[gathered++] = {counts, kind, hash, resource};
    if (gathered < next.size()) return;
    std::for_each(next.begin(), next.end(), add);
    gathered = 0;
  });
  std::for_each(next.begin(), next.begin() + gathered, add);
  // Members were counted in the table's entries, which were in the cache, and not in `groups_`.
  table.for_each([&](const auto& entry) { groups_[entry.group].members += entry.members; });
}

void FabricCount::count_by_channel(const Input& input) {
  std::vector<ChannelCount> counts;
  for (std::size_t c = 0; c < channels_; ++c) counts.emplace_back(resources_of(input), static_cast<std::uint32_t>(c));
  std::vector<Walk> walks(channels_);
  in_parallel(channels_, input.threads, [&](std::size_t c) {
    walks[c] = cross(input, sets_.get(), static_cast<std::uint32_t>(c),
                     [&](std::uint32_t resource, std::uint64_t count) { counts[c].add(resource, count); });
  });
  bool weighted = false;
  for (Walk& walk : walks) {
    weighted |= walk.weighted;
    blocked_.push_back(walk.blocked);
    trips_.push_back(std::move(walk.trips));
  }
  collect_channels(input, counts, unit_of(input, weighted));
}

void FabricCount::collect_channels(const Input& input, std::vector<ChannelCount>& counts, double unit) {
  std::vector<double> connections(channels_);
  if (!std::all_of(counts.begin(), counts.end(), [](const ChannelCount& c) { return c.is_array(); })) {
    // In the order of channels, not of threads. Each list is freed as soon as it is copied.
    CrossingList all = counts.front().list();
    for (std::size_t c = 1; c < channels_; ++c) all.append(counts[c].list());
    all.sort();
    groups_of_ = GroupMap(resources_of(input), all.size());
    // Ports come first: they have the lowest numbers, and the map is filled in ascending order.
    if (sets_) collect_ports(input, unit);
    all.for_each(channels_, [&](std::uint32_t resource, std::span<const std::uint64_t> of) {
      for (std::size_t c = 0; c < channels_; ++c) connections[c] = static_cast<double>(of[c]) * unit;
      collect(input, resource, connections);
    });
    return;
  }
  groups_of_ = GroupMap(resources_of(input), resources_of(input));
  if (sets_) collect_ports(input, unit);
  for (std::uint32_t r = 0; r < resources_of(input); ++r) {
    std::uint64_t any = 0;
    for (std::size_t c = 0; c < channels_; ++c) {
      any |= counts[c].at(r);
      connections[c] = static_cast<double>(counts[c].at(r)) * unit;
    }
    if (any) collect(input, r, connections);
  }
}

void FabricCount::collect(const Input& input, std::uint32_t resource, std::span<const double> connections) {
  const std::uint64_t kind = kind_of(input, resource, is_port(input.fabric, resource));
  const std::uint32_t group = find_group(kind, find_shape(connections), resource);
  ++groups_[group].members;
  groups_of_.put(resource, group);
}

std::uint32_t FabricCount::find_shape(std::span<const double> connections) {
  const auto [shape, fresh] = shapes_.find_or_add(connections);
  if (fresh) last_group_.push_back(no_group);
  return shape;
}

std::uint32_t FabricCount::find_group(std::uint64_t kind, std::uint32_t shape, std::uint32_t resource) {
  // A linked list is enough: a shape has at most one group per kind of links.
  for (std::uint32_t g = last_group_[shape]; g != no_group; g = groups_[g].next)
    if (groups_[g].kind == kind) return g;
  groups_.push_back({resource, 0, shape, last_group_[shape], kind});
  return last_group_[shape] = static_cast<std::uint32_t>(groups_.size() - 1);
}

/// Ports are the lowest links and have been counted by set. Most ports have the counts and the kind of an earlier port.
/// So the group is remembered by number of the counts, and no row is built. It is remembered by direction as well,
/// because the two directions may differ in class and would evict each other's group at every port.
void FabricCount::collect_ports(const Input& input, double unit) {
  const auto pairs = static_cast<std::uint64_t>(input.comm.qps_per_connection);
  struct Known {
    std::uint64_t kind = 0;
    std::uint32_t group = no_group;
  };
  std::vector<Known> known(2 *
                           std::size_t{sets_->port_kinds()});  // by number of the counts and direction: the last kind
  std::vector<double> connections(channels_);
  sets_->for_each_port([&](std::uint32_t port, std::uint32_t counts) {
    const std::uint64_t kind = kind_of(input, port, true);
    Known& at = known[2 * std::size_t{counts} + (port & 1U)];
    if (at.group == no_group || at.kind != kind) {
      const auto by_set = sets_->port_counts(counts);
      for (std::uint32_t c = 0; c < channels_; ++c)
        connections[c] = static_cast<double>(by_set[sets_->set_of(c)] * pairs) * unit;
      at = {kind, find_group(kind, find_shape(connections), port)};
    }
    ++groups_[at.group].members;
    groups_of_.put(port, at.group);
  });
}

}  // namespace fabricast
