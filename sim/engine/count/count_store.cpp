// What is counted once and what again, and whether two networks may share a count (count_store.hpp).
//
// Only the counts of one seed are kept: the seed for which hardware is varied. Engines of other seeds keep their own.
#include "count_store.hpp"

#include "fabricast/core/field_tree.hpp"

namespace fabricast {

namespace {

PatCount count_all(const FabricCount::Input& input, std::shared_ptr<const EdgeSets> sets) {
  if (find_by_algorithm(input.plan.algorithm)->in_dimensions) return count_pat(input);
  return {FabricCount(input, std::move(sets)), nullptr};
}

/// Null if connections are not counted by set.
std::shared_ptr<const EdgeSets> edge_sets(const FabricCount::Input& in) {
  return EdgeSets::of(in.comm, in.plan, in.fabric, in.router, in.threads);
}

}  // namespace

SharedCount::SharedCount(const FabricCount::Input& input, std::shared_ptr<const EdgeSets> sets, bool one_hardware)
    : SharedCount(count_all(input, std::move(sets)), one_hardware) {}

SharedCount::SharedCount(PatCount counted, bool one_hardware)
    : count_(std::move(counted.count)), pat_contentions_(std::move(counted.contentions)), one_hardware_(one_hardware) {}

/// Found under the lock: another thread that requests the same channel waits instead of routing its paths again.
std::shared_ptr<const EdgeRoutes> SharedCount::routes(const FabricCount::Input& input, std::uint32_t channel) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const EdgeRoutes>& routes = routes_[channel];
  if (!routes) routes = edge_routes(count_, input, channel);
  return routes;
}

const EdgePaths* SharedCount::edge_paths(const FabricCount::Input& input) {
  const std::scoped_lock lock(mutex_);
  if (!edge_paths_) edge_paths_ = fabricast::edge_paths(input);
  return edge_paths_->get();
}

std::shared_ptr<SharedCount> count_alone(const FabricCount::Input& in) {
  return std::make_shared<SharedCount>(in, edge_sets(in), true);
}

namespace {

/// Whether paths of equal latency on one hardware have equal latencies on any other. In a Clos they have, because they
/// cross the same tiers, and in a fabric with a metric, because they have equally many links of each class. The latency
/// of a reducing tree is known only for the hardware on which it was counted. Where paths follow loads, they follow rates too.
bool any_hardware(const FabricCount::Input& input) {
  return (input.fabric.clos() || input.fabric.metric()) && !input.router.follows_load() &&
         !find_by_algorithm(input.plan.algorithm)->network_trees;
}

}  // namespace

std::shared_ptr<SharedCount> CountStore::of(const FabricCount::Input& input, std::uint64_t seed) {
  // One lock for the map and one for each plan, so that only threads that count the same plan wait for each other.
  Known* known = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<Known>& at =
        known_[{input.plan.op, input.plan.one_way, input.plan.algorithm, input.plan.channels, edge_key_of(input.plan)}];
    if (!at) at = std::make_unique<Known>();
    known = at.get();
  }
  std::unique_lock lock(known->mutex);
  // A flag beside the pointer, because null is a valid result: the algorithm has no edge sets.
  if (!known->has_sets) {
    known->sets = edge_sets(input);
    known->has_sets = true;
  }
  if (seed != kept_ || !any_hardware(input)) {
    // Seeds that are not kept are counted concurrently.
    lock.unlock();
    return std::make_shared<SharedCount>(input, known->sets, true);
  }
  if (!known->count) known->count = std::make_shared<SharedCount>(input, known->sets, false);
  return known->count;
}

std::shared_ptr<CountStore> make_count_store(std::uint64_t seed) { return std::make_shared<CountStore>(seed); }

namespace {

bool same_shapes(const std::vector<ChannelShape>& a, const std::vector<ChannelShape>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ChannelShape& x, const ChannelShape& y) {
    return x.gpus == y.gpus && x.nic_in == y.nic_in && x.nic_out == y.nic_out;
  });
}

}  // namespace

namespace {

/// Whether two specifications of a policy have the same values.
bool routes_alike(const NetworkSetup& a, const NetworkSetup& b) {
  if (a.policy_spec == b.policy_spec) return true;
  const auto values = [](const NetworkSetup& of) {
    std::any spec = *of.policy_spec;
    FieldTree tree;
    of.policy->visit(tree, spec);
    std::string text;
    const Field fields = tree.take();
    for (const auto& [path, field] : leaves(fields)) text += path + "=" + field->value + "\n";
    return text;
  };
  return values(a) == values(b);
}

}  // namespace

/// Rates and latencies may differ, because counts do not depend on them. Fabrics from files are not compared: latencies
/// of their links are their own.
bool connects_alike(const NetworkSetup& a, const NetworkSetup& b) {
  if (!a.fabric || !b.fabric || (!a.fabric->clos() && !a.fabric->metric())) return false;
  return a.policy == b.policy && a.fabric->connects_like(*b.fabric) &&
         (a.segments.front().contended < 1) == (b.segments.front().contended < 1) && routes_alike(a, b) &&
         connects_alike(*a.comm, *b.comm);
}

/// Compares everything that determines the ports a channel connects and the numbers of its queue pairs.
bool connects_alike(const Communicator& x, const Communicator& y) {
  return x.placement == y.placement && x.hosts_per_node == y.hosts_per_node && x.nodes_per_host == y.nodes_per_host &&
         x.node.port_of_nic == y.node.port_of_nic && x.nic_of_gpu == y.nic_of_gpu && x.gpus() == y.gpus() &&
         same_shapes(x.rings, y.rings) && same_shapes(x.trees, y.trees) && x.heads == y.heads &&
         x.cross_nic == y.cross_nic && x.qps_per_connection == y.qps_per_connection && x.first_qp == y.first_qp;
}

}  // namespace fabricast
