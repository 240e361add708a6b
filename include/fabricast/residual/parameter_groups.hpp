// Hardware parameters in which sites differ together.
//
// Two sites with the same parts differ in how long a launch takes, or in what their NICs reach. A group is what differs as
// one: all its parameters grow or shrink alike. A forecast's derivative by each group says which sizes and collectives would
// show it. The groups cover every parameter of collectives, so that what nobody has measured widens an interval
// (residual.hpp), but for latencies of links, which data sheets tell well enough.
#pragma once

#include <array>
#include <string_view>

#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

struct ParameterGroup {
  std::string_view name;
  /// Paths of its parameters, as `names_parameter` takes them; empty ones are none.
  std::array<std::string_view, 5> parameters;
};

inline constexpr std::array parameter_groups = {
    ParameterGroup{"launch",
                   {"architectures.*.launch", "software.channel_launch", "software.channel_launch_before_2.9"}},
    ParameterGroup{"issue", {"architectures.*.issue_per_gpu", "architectures.*.issue_gap", "software.issue_group"}},
    ParameterGroup{"network_hop", {"networks.*.hop_ll", "networks.*.hop_ll128", "networks.*.hop_simple"}},
    ParameterGroup{"network_hop_by_gpu", {"architectures.*.network_hop"}},
    ParameterGroup{"network_start",
                   {"networks.*.start", "networks.*.flush", "networks.*.staged_hop", "software.network_hop_before_2.20",
                    "software.nvlstree_hop"}},
    ParameterGroup{"nic_efficiency", {"networks.*.nic_efficiency"}},
    ParameterGroup{"nic_share",
                   {"networks.*.peer_efficiency", "networks.*.staged_efficiency", "networks.*.sharp_efficiency",
                    "software.gdr_by_cpu_efficiency"}},
    ParameterGroup{"links", {"links.*.efficiency"}},
    ParameterGroup{"rate_simple", {"architectures.*.rate_simple", "architectures.*.rate_unaligned"}},
    ParameterGroup{"rate_ll", {"architectures.*.rate_ll"}},
    ParameterGroup{"rate_ll128", {"architectures.*.rate_ll128"}},
    ParameterGroup{"nvls_rate", {"architectures.*.nvls_rate"}},
    ParameterGroup{"hop_simple", {"architectures.*.hop_simple", "pcie_paths.*.hop_simple"}},
    ParameterGroup{"hop_ll", {"architectures.*.hop_ll", "pcie_paths.*.hop_ll", "software.tree_hop_ll"}},
    ParameterGroup{"hop_ll128", {"architectures.*.hop_ll128", "pcie_paths.*.hop_ll128"}},
    ParameterGroup{"pcie_hop", {"architectures.*.pcie_hop"}},
    ParameterGroup{"nvls_hop",
                   {"architectures.*.nvls_hop", "architectures.*.nvls_slice", "architectures.*.nvls_fan",
                    "networks.*.sharp_latency"}},
    ParameterGroup{
        "slice",
        {"architectures.*.slice", "architectures.*.ll_burst", "architectures.*.fence_ll128", "networks.*.nic_slice"}},
    ParameterGroup{"thread_rate", {"networks.*.thread_rate", "software.ll_check"}},
    ParameterGroup{"message", {"networks.*.message"}},
    ParameterGroup{"peers", {"networks.*.peer", "networks.*.peer_small", "networks.*.peer_chunk"}},
    ParameterGroup{"rendezvous", {"networks.*.rendezvous"}},
    ParameterGroup{"pcie_efficiency", {"pcie_paths.*.efficiency"}},
    ParameterGroup{"trees", {"software.last_receive", "software.both_ways"}},
    ParameterGroup{
        "harness",
        {"software.pytorch", "software.host_timed", "architectures.*.copy_barrier", "architectures.*.copy_start"}},
};
template <class T>
using PerGroup = std::array<T, parameter_groups.size()>;

/// Whether a path is one of the group's.
bool has_parameter(const ParameterGroup& group, std::string_view path);

/// Divides all parameters of a group that are above zero by e^`by`, so that no share grows beyond the whole.
/// \returns whether there is one
bool lower(Hardware& hardware, const ParameterGroup& group, double by);

/// Standard deviation of the logarithm of each group's least known parameter, by its interval, of those that `used` names.
PerGroup<double> deviations(const Hardware& hardware, const std::vector<std::string>& used);

}  // namespace fabricast
