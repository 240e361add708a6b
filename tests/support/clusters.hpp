// Clusters of regular nodes as NCCL sees them, in one line, for the tests of the layers above the hardware.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/planner/planner.hpp"

namespace fabricast::test {

using Variables = std::map<std::string, std::string>;

/// A shipped node with what a test changes in it.
NodeSpec node_spec(std::string_view gpu);
NodeSpec preset_spec(std::string_view preset);
NodeSpec with_nics(NodeSpec spec, int count, double gbps);
NodeSpec with_gpus(NodeSpec spec, int gpus);

/// Settings of a NCCL version; warnings are dropped.
NcclSettings nccl_settings(const Variables& variables = {}, NcclVersion version = {2, 30, 7});

/// `nodes` NCCL nodes of one host each.
Planner planner_of(const NodeSpec& spec, std::uint32_t nodes, const Variables& variables = {},
                   NcclVersion version = {2, 30, 7});

}  // namespace fabricast::test
