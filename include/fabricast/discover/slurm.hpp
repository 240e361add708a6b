// Slurm's topology.conf and topology.yaml [Slurm-topology]: which hosts are behind which switch (topology/tree), or in which block
// (topology/block). It tells neither rates nor cables, so a fabric made of it is a sketch:
//
//   - each host has all its NICs on its switch, as rails are not told;
//   - each switch has as many cables up as down, or fewer by the oversubscription given, shared evenly by its parents;
//   - a switch above others stands for as many real ones as that takes: nothing is lost in it;
//   - blocks are switches, joined by one switch above them.
//
// What it is good for is the order of hosts: those behind one switch are neighbours.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/discover/problems.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

struct SlurmSwitch {
  std::string name;
  std::vector<std::string> nodes;     ///< of a leaf, or a block
  std::vector<std::string> switches;  ///< of another
  int line = 0;
};

struct SlurmTopology {
  std::vector<SlurmSwitch> switches;
  std::vector<std::string> hosts() const;  ///< in the order of the file
};

/// Names that are there twice or not at all, hosts on two switches, switches below themselves.
void check_slurm_topology(const SlurmTopology& topology, FileProblems& problems);

/// Whether a text is a topology.conf: it has SwitchName= or BlockName=.
bool is_slurm_topology(std::string_view text);

/// Faults go to `problems`.
SlurmTopology read_slurm_topology(std::istream& in, FileProblems& problems);

/// \param nics  NIC ports of each host, called nic0, nic1 ...
FileFabric fabric_of_slurm(const SlurmTopology& topology, int nics, double oversubscription);

}  // namespace fabricast
