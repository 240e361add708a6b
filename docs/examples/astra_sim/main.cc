// ASTRA-sim on the network of a Fabricast scenario:
//
//   fabricast_astra SCENARIO WORKLOAD GROUPS SYSTEM REMOTE_MEMORY
//
// SCENARIO is a file of Fabricast and takes the place of ASTRA-sim's network description; the others are ASTRA-sim's own:
// the prefix of a Chakra trace per rank, the communicator groups (`empty`: none), the system and the remote memory.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "astra-sim/common/Logging.hh"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"
#include "fabricast_astra.hh"

int main(int argc, char** argv) try {
  using namespace AstraSim;
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s SCENARIO WORKLOAD GROUPS SYSTEM REMOTE_MEMORY\n", argv[0]);
    return 2;
  }
  LoggerFactory::init("empty");
  FabricastWorld world(argv[1]);
  FabricastWorld::current() = &world;
  Analytical::AnalyticalRemoteMemory memory(argv[5]);
  std::vector<std::unique_ptr<FabricastNetwork>> networks;
  std::vector<std::unique_ptr<Sys>> systems;
  for (int rank = 0; rank < world.times.ranks(); ++rank) {
    networks.push_back(std::make_unique<FabricastNetwork>(rank, world));
    // One dimension of all ranks with one queue: the fabric's shape is in the scenario.
    systems.push_back(std::make_unique<Sys>(rank, argv[2], argv[3], argv[4], &memory, networks.back().get(),
                                            std::vector<int>{world.times.ranks()}, std::vector<int>{1}, 1.0, 1.0, false));
  }
  for (const auto& system : systems) system->workload->fire();
  world.clock.run();
  systems.clear();
  LoggerFactory::shutdown();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
