#include "fabric_count.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <limits>

#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// Parts of a connection are counted in this unit.
constexpr double weight_unit = 0x1p-20;

/// Links of one kind have the same rate whatever the hardware.
std::uint64_t kind_of(const FabricCount::Input& in, std::uint32_t resource) {
  if (!in.segment.links.all_nominal())
    return std::bit_cast<std::uint64_t>(capacity(in.fabric, in.router, in.segment.links, resource).value *
                                        (is_port(in.fabric, resource) ? in.segment.ports : 1));
  if (resource < in.fabric.links())
    return 2U * in.fabric.class_index(LinkId(resource)) + (is_port(in.fabric, resource) ? 1U : 0U);
  const Router::Bundle bundle = in.router.bundle(resource - in.fabric.links());
  const std::uint64_t of_first = bundle.count ? in.fabric.class_index(LinkId(bundle.first)) : 0;
  return std::uint64_t{1} << 63 | of_first << 32 | bundle.count;
}

/// Of the ranges of resources that threads find signatures of.
std::uint32_t first_of_range(std::uint32_t resources, std::size_t range, std::size_t ranges) {
  return static_cast<std::uint32_t>(std::uint64_t{resources} * range / ranges);
}

std::uint64_t expected_crossings(const FabricCount::Input& in, const EdgeSets* sets) {
  if (sets) return sets->crossings();
  return 8 * static_cast<std::uint64_t>(in.comm.nodes());
}

/// A flow without a path waits, if what cuts it ends.
void require_end(const FabricCount::Input& in, const Flow& flow) {
  if (in.segment.faults.empty() || in.segment.end == std::numeric_limits<double>::infinity())
    throw_cut(in.fabric, in.segment, flow);
}

/// Calls add(resource, count) for what a channel crosses between ports.
/// \returns whether a connection of it waits for a path
template <class Add>
bool cross_between_ports(const FabricCount::Input& in, const EdgeSets& sets, std::uint32_t channel, Add add) {
  bool waits = false;
  Path path;
  const auto pairs = static_cast<std::uint32_t>(in.comm.qps_per_connection);
  const EdgeSet& set = sets.of_channel(channel);
  for (const OpenEdge& e : set.open)
    for (std::uint32_t q = 0; q < pairs; ++q) {
      const Flow flow = flow_between(in.comm, e.from, e.to, channel, e.odd, q);
      if (!in.router.route(flow, path)) {
        require_end(in, flow);
        waits = true;
        continue;
      }
      for (std::size_t i = 1; i + 1 < path.resources.size(); ++i) add(path.resources[i], std::uint64_t{e.weight});
    }
  for (const auto& [r, count] : set.between) add(r, count * pairs);
  return waits;
}

struct Plane {
  bool blocked = false;
  bool fits = true;  ///< every count goes into a byte
};

Plane count_plane(const FabricCount::Input& in, const EdgeSets& sets, std::uint32_t channel, ChannelPlanes& planes) {
  Plane plane;
  plane.blocked = cross_between_ports(in, sets, channel, [&](std::uint32_t resource, std::uint64_t count) {
    plane.fits &= planes.add(channel, resource, count);
  });
  return plane;
}

}  // namespace

/// Counts the connections of one channel after the other.
class FabricCount::Counter {
 public:
  Counter(const Input& input, const EdgeSets* sets, ResourceSlots& slots)
      : in_(input), algorithm_(*find_by_algorithm(input.plan.algorithm)), sets_(sets), slots_(slots) {
    if (slots.dense()) count_.assign(slots.size(), 0);
  }

  void count(std::uint32_t channel) {
    channel_ = channel;
    blocked_ = false, latency_ = 0, ways_ = 0;
    const auto pairs = static_cast<std::uint32_t>(in_.comm.qps_per_connection);
    if (sets_) {
      blocked_ = cross_between_ports(in_, *sets_, channel, [&](std::uint32_t r, std::uint64_t count) { add(r, count); });
    } else if (algorithm_.network_edges) {
      std::size_t e = 0;
      algorithm_.network_edges(in_.comm, in_.plan, static_cast<int>(channel), [&](const NetworkEdge& edge) {
        for (std::uint32_t q = 0; q < pairs; ++q)
          if (route(flow_of(in_.comm, in_.fabric, edge, static_cast<int>(channel), e, q))) {
            add_path(edge.weight);
            latency_ += path_.latency.value, ++ways_;
          }
        ++e;
      });
    }
    if (algorithm_.network_trees) count_trees();
  }
  /// Calls use(slot, resource, count) for what the channel counted on resources from `begin` to `end`.
  template <class Use>
  void for_each(std::uint32_t begin, std::uint32_t end, Use use) const {
    for (const auto& [slot, r] : touched_)
      if (r >= begin && r < end) use(slot, r, count_[slot]);
  }
  void clear() {
    for (const auto& [slot, r] : touched_) count_[slot] = 0;
    touched_.clear();
  }
  bool weighted() const { return weighted_; }
  bool blocked() const { return blocked_; }
  double mean_latency() const { return ways_ ? latency_ / static_cast<double>(ways_) : 0; }

 private:
  bool route(const Flow& flow) {
    if (in_.router.route(flow, path_)) return true;
    require_end(in_, flow);
    blocked_ = true;
    return false;
  }
  void add(std::uint32_t resource, std::uint64_t count) {
    const std::uint32_t slot = slots_.find_or_add(resource);
    if (slot >= count_.size()) count_.resize(slot + 1, 0);
    if (count_[slot] == 0) touched_.emplace_back(slot, resource);
    count_[slot] += count;
  }
  void add_path(std::uint64_t connections) {
    weighted_ |= !path_.weights.empty();
    for (std::size_t i = 0; i < path_.resources.size(); ++i) {
      const std::uint64_t one =
          path_.weights.empty() ? 1 : static_cast<std::uint64_t>(path_.weights[i] / weight_unit + 0.5);
      add(path_.resources[i], one * connections);
    }
  }
  void count_trees() {
    // Weights of parts count in their own unit; one tree is one connection of every queue pair.
    weighted_ = true;
    const auto weight = static_cast<std::uint64_t>(in_.tree_weight * in_.comm.qps_per_connection / weight_unit + 0.5);
    algorithm_.network_trees(in_.comm, in_.plan, static_cast<int>(channel_), [&](const AggregationTree& tree) {
      for (const LinkId link : tree.links) {
        if (in_.segment.links.down(link.value)) {
          if (in_.segment.end == std::numeric_limits<double>::infinity())
            throw UserError::at("faults", fmt::format("the SHARP tree is cut: {} is down", in_.fabric.name(link)),
                                "without NCCL_COLLNET_ENABLE the job goes round it");
          blocked_ = true;
        }
        add(link.value, weight);
      }
      latency_ += tree.latency.value, ++ways_;
    });
  }

  const Input& in_;
  const CollectiveAlgorithm& algorithm_;
  const EdgeSets* sets_;
  ResourceSlots& slots_;
  std::vector<std::uint64_t> count_;                              ///< by slot
  std::vector<std::pair<std::uint32_t, std::uint32_t>> touched_;  ///< slots and their resources
  std::uint32_t channel_ = 0;
  bool weighted_ = false, blocked_ = false;
  double latency_ = 0;
  std::uint64_t ways_ = 0;  ///< paths and trees
  Path path_;
};

FabricCount::FabricCount(const Input& input, std::shared_ptr<const EdgeSets> sets)
    : sets_(std::move(sets)),
      slots_(input.fabric.links() + input.router.bundles(), expected_crossings(input, sets_.get())) {
  if (!count_in_planes(input)) count_channels(input);
}

bool FabricCount::count_in_planes(const Input& input) {
  const auto channels = static_cast<std::size_t>(input.plan.channels);
  if (!sets_ || !slots_.dense() || channels > ChannelPlanes::most_channels) return false;
  ChannelPlanes planes(2 * input.fabric.endpoints(), input.fabric.links() + input.router.bundles(), channels);
  std::vector<std::uint8_t> blocked(channels, 0);
  std::atomic<bool> fits = true;
  in_parallel(channels, input.threads, [&](std::size_t c) {
    const Plane plane = count_plane(input, *sets_, static_cast<std::uint32_t>(c), planes);
    blocked[c] = plane.blocked;
    if (!plane.fits) fits = false;
  });
  if (!fits) return false;
  blocked_.assign(blocked.begin(), blocked.end());
  mean_latency_.assign(channels, 0);
  channels_ = channels;
  group_.assign(slots_.size(), no_group);
  collect_planes(input, planes);
  return true;
}

void FabricCount::collect_planes(const Input& input, const ChannelPlanes& planes) {
  const double unit = 1.0 / input.comm.qps_per_connection;
  collect_ports(input, unit);
  // Ports that are nominal are of kinds of their own: no group of theirs can be one of these.
  const bool apart = input.segment.links.all_nominal();
  struct Known {
    std::uint32_t shape, group = no_group;  ///< the last group
    std::uint64_t kind = 0;
  };
  SeenCounts seen(channels_);
  std::vector<Known> known;  // by number of what was seen
  std::vector<double> connections(channels_);
  planes.for_each([&](std::uint32_t resource, const ChannelPlanes::Counts& counts) {
    const auto [number, fresh] = seen.find_or_add(counts);
    if (fresh) {
      for (std::size_t c = 0; c < channels_; ++c) connections[c] = ChannelPlanes::count_of(counts, c) * unit;
      known.push_back({apart ? add_shape(connections) : find_shape(connections)});
    }
    Known& k = known[number];
    const std::uint64_t kind = kind_of(input, resource);
    if (k.group == no_group || k.kind != kind) k.kind = kind, k.group = find_group(kind, k.shape, resource);
    ++groups_[k.group].members;
    group_[resource] = k.group;
  });
  shape_at_ = {};
}

void FabricCount::count_channels(const Input& input) {
  const auto channels = static_cast<std::uint32_t>(input.plan.channels);
  blocked_.assign(channels, false), mean_latency_.assign(channels, 0);
  // Slots of a table are given out one by one, which goes with one thread.
  const auto threads = static_cast<std::uint32_t>(
      slots_.dense() ? std::clamp<std::size_t>(input.threads, 1, std::max(1U, channels)) : 1);
  if (slots_.dense()) group_.assign(slots_.size(), no_group);
  const std::uint32_t resources = input.fabric.links() + input.router.bundles();
  std::vector<Signatures> ranges(threads);
  std::vector<Counter> counters;
  for (std::uint32_t t = 0; t < threads; ++t) counters.emplace_back(input, sets_.get(), slots_);
  for (std::uint32_t first = 0; first < channels; first += threads) {
    const std::uint32_t together = std::min(threads, channels - first);
    in_parallel(together, threads, [&](std::size_t t) { counters[t].count(first + static_cast<std::uint32_t>(t)); });
    group_.resize(slots_.size(), no_group);
    in_parallel(threads, threads, [&](std::size_t range) {
      const std::uint32_t begin = first_of_range(resources, range, threads),
                          end = first_of_range(resources, range + 1, threads);
      Signatures& signatures = ranges[range];
      for (std::uint32_t t = 0; t < together; ++t)
        counters[t].for_each(begin, end, [&](std::uint32_t slot, std::uint32_t r, std::uint64_t n) {
          std::uint32_t& signature = group_[slot];
          if (signature == no_group) signature = signatures.root(kind_of(input, r));
          signature = signatures.child(signature, first + t, n);
        });
    });
    for (std::uint32_t t = 0; t < together; ++t) {
      weighted_ |= counters[t].weighted();
      blocked_[first + t] = counters[t].blocked(), mean_latency_[first + t] = counters[t].mean_latency();
      counters[t].clear();
    }
  }
  counters.clear();
  collect_groups(input, ranges);
}

std::uint32_t FabricCount::find_shape(std::span<const double> connections) {
  const auto home = [&](std::span<const double> shape) {
    std::uint64_t hash = 0;
    for (const double n : shape) hash = mix64(hash ^ std::bit_cast<std::uint64_t>(n));
    return static_cast<std::size_t>(hash) & (shape_at_.size() - 1);
  };
  const auto shape = [&](std::uint32_t s) { return std::span(shapes_.data() + s * channels_, channels_); };
  const auto free_or = [&](std::span<const double> wanted, auto is) {
    std::size_t i = home(wanted);
    while (shape_at_[i] != no_group && !is(shape_at_[i])) i = (i + 1) & (shape_at_.size() - 1);
    return i;
  };
  if (2 * (last_group_.size() + 1) > shape_at_.size()) {
    shape_at_.assign(std::max<std::size_t>(1024, 4 * shape_at_.size()), no_group);
    for (std::uint32_t s = 0; s < last_group_.size(); ++s)
      shape_at_[free_or(shape(s), [](std::uint32_t) { return false; })] = s;
  }
  std::uint32_t& at = shape_at_[free_or(connections, [&](std::uint32_t s) {
    return std::equal(connections.begin(), connections.end(), shape(s).begin());
  })];
  if (at == no_group) at = add_shape(connections);
  return at;
}

std::uint32_t FabricCount::add_shape(std::span<const double> connections) {
  shapes_.insert(shapes_.end(), connections.begin(), connections.end());
  last_group_.push_back(no_group);
  return static_cast<std::uint32_t>(last_group_.size() - 1);
}

std::uint32_t FabricCount::find_group(std::uint64_t kind, std::uint32_t shape, std::uint32_t resource) {
  for (std::uint32_t g = last_group_[shape]; g != no_group; g = groups_[g].next)
    if (groups_[g].kind == kind) return g;
  groups_.push_back({resource, 0, shape, last_group_[shape], kind});
  return last_group_[shape] = static_cast<std::uint32_t>(groups_.size() - 1);
}

/// Ports are the lowest links, and have been counted by set.
void FabricCount::collect_ports(const Input& input, double unit) {
  const Signatures& signatures = sets_->port_signatures();
  const auto pairs = static_cast<std::uint64_t>(input.comm.qps_per_connection);
  struct Known {
    std::uint64_t kind = 0;
    std::uint32_t group = no_group;
  };
  std::vector<Known> known(2 * std::size_t{signatures.size()});  // by signature and direction: of the last kind
  std::vector<std::uint64_t> by_set(static_cast<std::size_t>(input.plan.channels));
  std::vector<double> connections(channels_);
  sets_->for_each_port([&](std::uint32_t port, std::uint32_t signature) {
    const std::uint64_t kind = kind_of(input, port);
    Known& at = known[2 * std::size_t{signature} + (port & 1U)];
    if (at.group == no_group || at.kind != kind) {
      std::fill(by_set.begin(), by_set.end(), 0);
      signatures.for_each(signature, [&](std::uint32_t set, std::uint64_t count) { by_set[set] = count; });
      for (std::uint32_t c = 0; c < channels_; ++c)
        connections[c] = static_cast<double>(by_set[sets_->set_of(c)] * pairs) * unit;
      at = {kind, find_group(kind, find_shape(connections), port)};
    }
    ++groups_[at.group].members;
    const std::uint32_t slot = slots_.find_or_add(port);
    if (slot >= group_.size()) group_.resize(slot + 1, no_group);
    group_[slot] = at.group;
  });
}

void FabricCount::collect_groups(const Input& input, const std::vector<Signatures>& ranges) {
  const double unit = (weighted_ ? weight_unit : 1.0) / input.comm.qps_per_connection;
  const std::uint32_t resources = input.fabric.links() + input.router.bundles();
  const std::uint32_t others = sets_ ? 2 * input.fabric.endpoints() : 0;  // ports come before
  channels_ = static_cast<std::size_t>(input.plan.channels);
  if (sets_) collect_ports(input, unit);
  std::vector<std::vector<std::uint32_t>> group_of;  // by range and signature
  for (const Signatures& s : ranges) group_of.emplace_back(s.size(), no_group);
  std::vector<double> connections;
  std::size_t range = 0;
  slots_.for_each([&](std::uint32_t slot, std::uint32_t r) {
    if (r < others || group_[slot] == no_group) return;
    while (r >= first_of_range(resources, range + 1, ranges.size())) ++range;
    std::uint32_t& group = group_of[range][group_[slot]];
    if (group == no_group) {
      connections.assign(channels_, 0);
      ranges[range].for_each(group_[slot], [&](std::uint32_t channel, std::uint64_t count) {
        connections[channel] = static_cast<double>(count) * unit;
      });
      group = find_group(kind_of(input, r), find_shape(connections), r);
    }
    ++groups_[group].members;
    group_[slot] = group;
  });
  shape_at_ = {};
}

}  // namespace fabricast
