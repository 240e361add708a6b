// The contents of a fabric file (see sim/topology/file.cpp for the format).
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "fabricast/topology/topology.hpp"

namespace fabricast {

struct FileFabricNic {
  std::string name;  ///< `mlx5_0`
  int lid = 0;       ///< 0: not told
  int lmc = 0;
};

/// A host by its name; hosts are numbered in the order of the list.
struct FileFabricHost {
  std::string name;
  std::vector<FileFabricNic> nics;
};

struct FileFabricSwitch {
  std::string name;
  Tier tier = Tier::leaf;
  std::string guid{};  ///< 16 hexadecimal digits; empty: not told
  int lid = 0;         ///< 0: not told
};

struct FileFabricLink {
  std::string from, to;
  BytesPerSecond rate{0};  ///< 0: the switches' rate, or the NIC's at a NIC
  Seconds latency{-1};     ///< below 0: propagation of the cable and the switch's latency
  int count = 1;
  int from_port = 0, to_port = 0;  ///< port numbers of switches; 0: not told
};

/// What stands in a fabric file, or was found on a real fabric.
struct FileFabric {
  std::vector<FileFabricHost> hosts;  ///< empty: node0.nic0 and so on
  std::vector<FileFabricSwitch> switches;
  std::vector<FileFabricLink> links;
};

/// The lists are filled in from the file.
struct FileFabricSpec : FabricBasics, FileFabric {
  std::string path;
  std::vector<std::string> nics;  ///< of the hosts that the file names, those in use; empty: all
  double oversubscription = 1;    ///< for files that tell no cables (Slurm's topology.conf)
};

/// Links of a file have rates of their own.
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
