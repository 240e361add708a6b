// Slurm's topology.conf and topology.yaml [Slurm-topology]: the hosts behind each switch (topology/tree) or in each
// block (topology/block). These files state neither rates nor cables, so a fabric made from them is a sketch:
//
//   - all NICs of a host connect to its switch, because rails are not stated;
//   - a switch has as many cables up as down, divided by the oversubscription, distributed evenly over its parents;
//   - a switch above others stands for as many real switches as its cables need, and is not a bottleneck itself;
//   - blocks are switches, and one switch above them connects them.
//
// The main use of the file is the order of hosts: hosts behind the same switch become neighbors.
//
// Plain values and pure functions; safe to call concurrently on different streams.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/discover/problems.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

/// A switch or block. It has either nodes or switches.
struct SlurmSwitch {
  std::string name;
  std::vector<std::string> nodes;     ///< for a leaf or block: its hosts
  std::vector<std::string> switches;  ///< for a higher switch: the switches below it
  int line = 0;
};

/// The contents of a file.
struct SlurmTopology {
  std::vector<SlurmSwitch> switches;
  /// All hosts in the order of the file.
  std::vector<std::string> hosts() const;
};

/// Reports duplicate and unknown names, hosts on two switches, and switches below themselves. Does nothing if
/// `problems` has errors already, which would only be repeated.
void check_slurm_topology(const SlurmTopology& topology, FileProblems& problems);

/// Whether a text looks like a topology.conf: one of its lines begins with SwitchName= or BlockName=.
bool is_slurm_topology(std::string_view text);

/// Reads and checks a topology.conf. \param problems  receives the errors
SlurmTopology read_slurm_topology(std::istream& in, FileProblems& problems);

/// The sketch of a fabric, with tiers.
/// \param nics              NIC ports of each host, named nic0, nic1, ...
/// \param oversubscription  cables down per cable up of each switch
/// \pre the topology has been checked without errors
FileFabric fabric_of_slurm(const SlurmTopology& topology, int nics, double oversubscription);

}  // namespace fabricast
