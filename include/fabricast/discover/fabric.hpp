// From what was found on a real fabric to the lists of a fabric file: hosts in order, switches by tier, cables.
//
// Names are kept. A node description `dgx01 mlx5_3` is NIC mlx5_3 of host dgx01; one that ends in no NIC's name is a
// host of its own, by its GUID. Of a managed switch `MF0;leaf1:MQM9700/U1` the name is leaf1, of a module of a chassis
// `MF0;core:CS8500/L03/U1` it is core/L03/U1; names that several switches have get their GUID.
//
// Order decides numbers: hosts, and the NICs of a host, in natural order of their names (dgx2 before dgx10), where names
// are equal by GUID. Nothing depends on the order of lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/discover/subnet.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

/// Runs of digits compare as numbers: mlx5_2 before mlx5_10.
bool natural_less(std::string_view a, std::string_view b);

/// All hosts and switches of one or several subnets; hosts with NICs in several are one. Tiers are not decided yet.
FileFabric fabric_of_subnets(const std::vector<DiscoveredSubnet>& subnets, std::vector<Diagnostic>& warnings);

/// Keeps the hosts that can be nodes of a job: those with so many NIC ports.
/// \param nics   how many; 0: as many as most hosts have
/// \param names  the NICs that count, which are put in this order; empty: all
void choose_hosts(FileFabric& fabric, int nics, const std::vector<std::string>& names,
                  std::vector<Diagnostic>& warnings);

/// Puts hosts in the order of a list of names; those that it does not have come after them.
void order_hosts(FileFabric& fabric, const std::vector<std::string>& order, std::vector<Diagnostic>& warnings);

/// Leaves have hosts, spines are one cable above, cores two and more. Switches that no host is on or below are left out.
/// Turns links so that they go up, and sorts switches and links.
void find_tiers(FileFabric& fabric, std::vector<Diagnostic>& warnings);

/// What looks wrong: links slower than others of their tiers, switches with fewer cables up, hosts on fewer switches.
std::vector<Diagnostic> fabric_findings(const FileFabric& fabric);

/// What is there, as a table: hosts, switches and cables by tier and rate.
std::string fabric_text(const FileFabric& fabric);

/// The fabric as `fabric: {kind: file}` reads it.
std::string fabric_yaml(const FileFabric& fabric);

}  // namespace fabricast
