// What a group takes of the fabric's links, without arrays over all of them: steps have thousands of groups.
#include <fmt/format.h>

#include "fabricast/engine/group_time.hpp"
#include "fabricast/protocol/costs.hpp"
#include "loads.hpp"

namespace fabricast {

namespace {

class Counter {
 public:
  Counter(const NetworkSetup& setup, const Router& router, const Plan& plan)
      : comm_(*setup.comm),
        fabric_(*setup.fabric),
        segment_(setup.segments.front()),
        router_(router),
        plan_(plan),
        algorithm_(*find_by_algorithm(plan.algorithm)),
        costs_(protocol_costs(comm_, plan)) {}

  void count(const std::function<void(std::span<const FabricUse>)>& of_channel) {
    const int channels = is_one_stream(plan_.algorithm) ? 1 : plan_.channels;
    for (int c = 0; c < channels; ++c) {
      uses_.clear();
      channel_ = static_cast<std::uint32_t>(c);
      count_channel(c);
      of_channel(uses_);
    }
  }

 private:
  void count_channel(int channel) {
    std::size_t edge_index = 0;
    const auto pairs = static_cast<std::uint32_t>(comm_.qps_per_connection);
    if (algorithm_.network_edges)
      algorithm_.network_edges(comm_, plan_, channel, [&](const NetworkEdge& edge) {
        for (std::uint32_t q = 0; q < pairs; ++q) {
          const Flow flow = flow_of(comm_, fabric_, edge, channel, edge_index, q);
          if (!router_.route(flow, path_)) cut(flow);
          for (std::size_t i = 0; i < path_.resources.size(); ++i)
            add(path_.resources[i], path_.weight(i) * edge.weight / pairs);
        }
        ++edge_index;
      });
    if (algorithm_.network_trees)
      algorithm_.network_trees(comm_, plan_, channel, [&](const AggregationTree& tree) {
        for (const LinkId link : tree.links) add(link.value, costs_.tree_weight);
      });
  }

  void add(std::uint32_t resource, double connections) {
    const double rate = capacity(fabric_, router_, segment_.links, resource).value *
                        (segment_.ports != 1 && is_port(fabric_, resource) ? segment_.ports : 1);
    uses_.push_back({channel_, resource, connections * costs_.wire / rate});
  }

  [[noreturn]] void cut(const Flow& flow) const {
    throw UserError::at(segment_.faults.empty() ? "fabric" : "faults",
                        fmt::format("the fabric is cut: no path from {} to {}", fabric_.name(VertexId(flow.from)),
                                    fabric_.name(VertexId(flow.to))));
  }

  const Communicator& comm_;
  const Fabric& fabric_;
  const NetworkSegment& segment_;
  const Router& router_;
  const Plan& plan_;
  const CollectiveAlgorithm& algorithm_;
  const ProtocolCosts costs_;
  std::vector<FabricUse> uses_;  ///< of the channel
  std::uint32_t channel_ = 0;
  Path path_;
};

}  // namespace

std::vector<FabricUse> fabric_use(const NetworkSetup& setup, const Router& router, const Plan& plan) {
  std::vector<FabricUse> all;
  for_each_fabric_use(setup, router, plan, [&](std::span<const FabricUse> uses) {
    all.insert(all.end(), uses.begin(), uses.end());
  });
  return all;
}

void for_each_fabric_use(const NetworkSetup& setup, const Router& router, const Plan& plan,
                         const std::function<void(std::span<const FabricUse>)>& of_channel) {
  Counter(setup, router, plan).count(of_channel);
}

}  // namespace fabricast
