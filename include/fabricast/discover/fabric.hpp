// From a discovered fabric to the lists of a fabric file: hosts in order, switches by tier, and cables.
//
// The usual sequence is fabric_of_subnets (or a reader of another format), choose_hosts, order_hosts, find_tiers, and
// then fabric_findings and fabric_yaml.
//
// Names are kept. The node description `dgx01 mlx5_3` is NIC mlx5_3 of host dgx01. A description that does not end with
// the name of a NIC is a host of its own, named after its GUID. The name of the managed switch `MF0;leaf1:MQM9700/U1`
// is leaf1, and the name of the chassis module `MF0;core:CS8500/L03/U1` is core/L03/U1. If several switches have the
// same name, their GUIDs are appended.
//
// Order determines numbers. Hosts, and the NICs of a host, are in natural order of their names (dgx2 before dgx10), and
// in the order of GUIDs where names are equal. The order of lines does not matter.
//
// Pure functions; safe to call concurrently on different fabrics. Warnings are appended to `warnings`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/discover/subnet.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

/// Natural order: sequences of digits compare as numbers, so mlx5_2 is before mlx5_10. A strict weak order.
bool natural_less(std::string_view a, std::string_view b);

/// All hosts and switches of one or more subnets. NICs of the same host name belong to one host, also across subnets.
/// All switches are leaves until find_tiers. SHARP aggregation nodes and routers are left out.
FileFabric fabric_of_subnets(const std::vector<DiscoveredSubnet>& subnets, std::vector<Diagnostic>& warnings);

/// Keeps the hosts that can be nodes of a job, which are those with the right number of NIC ports, and removes the
/// cables of the others.
/// \param nics   number of NIC ports; 0: the most common number
/// \param names  NICs to keep, in this order; empty: all
void choose_hosts(FileFabric& fabric, int nics, const std::vector<std::string>& names,
                  std::vector<Diagnostic>& warnings);

/// Puts hosts in the order of a list of names. Hosts that are not in the list come last. A name in the list also
/// matches a host with a domain (`node1` and `node1.cluster.org`).
void order_hosts(FileFabric& fabric, const std::vector<std::string>& order, std::vector<Diagnostic>& warnings);

/// Sets the tiers of switches by their distance from the hosts: leaves connect to hosts, spines are one cable above
/// leaves, cores two or more. Removes switches that lead to no host. Turns links so that they go up, and sorts switches
/// and links.
void find_tiers(FileFabric& fabric, std::vector<Diagnostic>& warnings);

/// Warnings about what differs from the rest of the fabric: links slower than most links between the same tiers,
/// switches with fewer up cables than most of their tier, and hosts on fewer switches than most hosts.
std::vector<Diagnostic> fabric_findings(const FileFabric& fabric);

/// A table of the numbers of hosts, switches and cables, by tier and rate.
std::string fabric_text(const FileFabric& fabric);

/// The fabric as a YAML file for `fabric: {kind: file}`.
std::string fabric_yaml(const FileFabric& fabric);

}  // namespace fabricast
