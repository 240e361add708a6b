// The contents of a fabric file: hosts, switches and cables, one by one. sim/topology/file.cpp describes the format.
//
// Readers of scenarios fill these lists from YAML or JSON. Readers of other formats (discover/fabric.hpp) produce the
// same lists, so every fabric that was read from a file is built in the same way. Rates are line rates in one
// direction.
//
// Plain values. The lists are checked when the fabric is built (Topology::build), not here.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "fabricast/topology/topology.hpp"

namespace fabricast {

/// A NIC port of a host.
struct FileFabricNic {
  std::string name;  ///< without the name of the host, for example `mlx5_0`
  int lid = 0;       ///< 0: not stated
  int lmc = 0;       ///< LID mask control: the port answers to 2^lmc LIDs
};

/// A host. Hosts are numbered in the order of the list, and their NICs likewise.
struct FileFabricHost {
  std::string name;
  std::vector<FileFabricNic> nics;
};

/// A switch.
struct FileFabricSwitch {
  std::string name;
  Tier tier = Tier::leaf;
  std::string guid{};  ///< 16 hexadecimal digits; empty: not stated
  int lid = 0;         ///< 0: not stated
};

/// One or more parallel cables.
struct FileFabricLink {
  std::string from, to;            ///< names of the lower and upper end; a NIC port is `host.nic`
  BytesPerSecond rate{0};          ///< line rate of a cable; 0: that of the switches or, for a NIC port, of the NIC
  Seconds latency{-1};             ///< per direction; negative: propagation, and the latency of a switch that it enters
  int count = 1;                   ///< number of parallel cables
  int from_port = 0, to_port = 0;  ///< port numbers on switches; 0: not stated
};

/// The contents of a file, or what was discovered on a real fabric.
struct FileFabric {
  std::vector<FileFabricHost> hosts;  ///< empty: the hosts are node0, node1, ... with NICs nic0, nic1, ...
  std::vector<FileFabricSwitch> switches;
  std::vector<FileFabricLink> links;
};

/// Section `fabric: {kind: file}`. Its lists are filled in from the file.
struct FileFabricSpec : FabricBasics, FileFabric {
  std::string path;
  std::vector<std::string> nics;  ///< NIC ports in use of the hosts that the file names; empty: all
  double oversubscription = 1;    ///< for files without cables (Slurm's topology.conf)
};

/// Infinite: each link of a file has its own rate.
inline BytesPerSecond offered_rate(const FileFabricSpec&) {
  return BytesPerSecond{std::numeric_limits<double>::infinity()};
}

void visit_fields(FieldVisitor& visit, FileFabricNic& nic);
void visit_fields(FieldVisitor& visit, FileFabricHost& host);
void visit_fields(FieldVisitor& visit, FileFabricSwitch& s);
void visit_fields(FieldVisitor& visit, FileFabricLink& link);
void visit_fields(FieldVisitor& visit, FileFabric& fabric);
void visit_fields(FieldVisitor& visit, FileFabricSpec& spec);

}  // namespace fabricast
