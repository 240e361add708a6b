// Groups of hardware parameters that vary together from site to site.
//
// Two sites with the same parts differ, for example, in how long a launch takes or in the rate that their NICs reach.
// All parameters of a group scale by the same factor. The derivative of a forecast with respect to each group shows
// which sizes and collectives a difference would affect (`effects` in residual.hpp).
//
// The groups cover every parameter of collectives, so that a parameter nobody has measured widens the interval. The
// exceptions are link latency, which data sheets give well enough, the size from which messages use a rendezvous, and
// the efficiencies of contended links, which act only where `fabric.congestion` says so. Parameters of computation are
// not covered. A parameter belongs to at most one group.
//
// A group is a direction in which sites are taken to differ, so its parameters should affect the same part of a call,
// and a difference between two parameters of one group cannot be told from data of one site. How far sites differ along
// each direction is learned from measurements (residual.hpp); the groups themselves are a choice.
//
// To add a parameter of collectives, name it in a group here; a test checks that none is missing.
//
// Pure functions; safe to call concurrently on different Hardware.
#pragma once

#include <array>
#include <string_view>

#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

/// A group: a name, which JSON files of the model use as a key, and patterns of parameter paths.
struct ParameterGroup {
  std::string_view name;  ///< unique; renaming one makes model files unreadable
  /// Patterns for `names_parameter` (hardware.hpp); unused entries are empty.
  std::array<std::string_view, 5> parameters;
};

/// All groups. Their order is the order of PerGroup.
inline constexpr std::array parameter_groups = {
    ParameterGroup{"launch",
                   {"architectures.*.launch", "software.channel_launch", "software.channel_launch_before_2.9"}},
    ParameterGroup{"issue", {"architectures.*.issue_per_gpu", "architectures.*.issue_gap", "software.issue_group"}},
    ParameterGroup{"network_hop", {"networks.*.hop_ll", "networks.*.hop_ll128", "networks.*.hop_simple"}},
    ParameterGroup{"network_hop_by_gpu", {"architectures.*.network_hop"}},
    ParameterGroup{"network_start",
                   {"networks.*.start", "networks.*.flush", "networks.*.staged_hop", "software.nvlstree_hop"}},
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
/// A value for each group, in the order of `parameter_groups`.
template <class T>
using PerGroup = std::array<T, parameter_groups.size()>;

/// Whether the path of a parameter, such as `networks.infiniband.message`, belongs to the group.
bool has_parameter(const ParameterGroup& group, std::string_view path);

/// Divides all positive parameters of a group by e^`by`. Parameters are lowered rather than raised so that no
/// efficiency exceeds 1. Parameters that are 0 stay 0: they switch a term off. Intervals and samples are not changed.
/// Visits all parameters of the hardware.
/// \param by  a small positive number for a derivative; 0 changes nothing
/// \returns whether the hardware has a positive parameter in the group
bool lower(Hardware& hardware, const ParameterGroup& group, double by);

/// For each group, the standard deviation of the logarithm of its least known parameter, from the parameter's 90 %
/// interval, at most 1: ln(high / low) / (2 x 1.645), as for a log-normal distribution. Parameters without an interval,
/// or whose interval begins at 0, count as known. Only parameters whose path begins with one of the prefixes in `used`
/// count; 0 for groups without such a parameter (scenario/used_parameters.hpp makes the prefixes).
PerGroup<double> deviations(const Hardware& hardware, const std::vector<std::string>& used);

}  // namespace fabricast
