#include "support/clusters.hpp"

#include <numeric>

namespace fabricast::test {

NodeSpec node_spec(std::string_view gpu) { return default_node(shipped_hardware(), gpu, {}); }

NodeSpec preset_spec(std::string_view preset) { return default_node(shipped_hardware(), {}, preset); }

NodeSpec with_nics(NodeSpec spec, int count, double gbps) {
  spec.nics.count = count;
  spec.nics.rate = BytesPerSecond{gbps * 1e9 / 8};
  return spec;
}

NodeSpec with_gpus(NodeSpec spec, int gpus) {
  spec.gpus = gpus;
  return spec;
}

NcclSettings nccl_settings(const Variables& variables, NcclVersion version) {
  std::vector<Diagnostic> warnings;
  return parse_nccl_environment(version, variables, warnings);
}

Planner planner_of(const NodeSpec& spec, std::uint32_t nodes, const Variables& variables, NcclVersion version) {
  std::vector<std::uint32_t> placement(nodes);
  std::iota(placement.begin(), placement.end(), 0U);
  return make_planner(build_node(spec, shipped_hardware()), std::move(placement), 1, nccl_settings(variables, version));
}

}  // namespace fabricast::test
