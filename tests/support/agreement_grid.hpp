// Scenarios on which the flow engine is compared with the chunk engine: every algorithm and operation under each
// condition of the network.
//
// H100 nodes of eight, four and one GPU and A100 nodes of eight; isolated calls. Conditions:
//
//   adaptive                    nothing in the way
//   ECMP, 1 cable and 4 cables  two leaves, as many uplinks as NICs below; nodes in turn under one and the other, so
//                               that all connections go up; three draws and two
//   4:1, adaptive and ECMP      a quarter of the uplinks, nodes placed at random
//   NIC at 25 % and 10 %        the cable of one NIC
//   uplink at 10 %              one cable between leaf and spine, under ECMP
//   NVLink at 25 %              of one GPU
#pragma once

#include <string>
#include <vector>

namespace fabricast::test {

struct GridCase {
  std::string algorithm;  ///< broadcast and reduce are chains, though NCCL calls them rings
  std::string condition;
  std::string name;
  std::string yaml;  ///< the scenario, without its sizes
};

/// By algorithm and condition.
std::vector<GridCase> agreement_grid();

}  // namespace fabricast::test
