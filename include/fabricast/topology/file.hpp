// The contents of a fabric file (see sim/topology/file.cpp for the format).
#pragma once

#include <string>
#include <vector>

#include "fabricast/topology/topology.hpp"

namespace fabricast {

struct FileFabricSwitch {
  std::string name;
  Tier tier = Tier::leaf;
};

struct FileFabricLink {
  std::string from, to;
  BytesPerSecond rate{0};  ///< 0: the switches' rate, or the NIC's at a NIC
  Seconds latency{-1};     ///< below 0: propagation of the cable and the switch's latency
  int count = 1;
};

struct FileFabricSpec : FabricBasics {
  std::string path;
  // Filled in from the file:
  std::vector<FileFabricSwitch> switches;
  std::vector<FileFabricLink> links;
};

void visit_fields(FieldVisitor& visit, FileFabricSwitch& s);
void visit_fields(FieldVisitor& visit, FileFabricLink& link);
void visit_fields(FieldVisitor& visit, FileFabricSpec& spec);

}  // namespace fabricast
