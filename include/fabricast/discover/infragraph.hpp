// A cluster as InfraGraph describes it [InfraGraph]: devices made of components, instances of devices, and edges between
// slices of them: `host[0:4]`, `nic[0:2]`; of composed devices `cx5[0].port[0]`.
//
// An instance is a host if its device has an xpu (npu before version 1), else a switch. Taken are edges between a nic or
// port of a host and a switch, and between switches. Other edges (NVLink between xpus and their switches) and the inside of
// devices are left out: the node of the scenario has them. Names are InfraGraph's own: `host.3.nic.0`, `leafsw.1`.
//
// Not read: latencies of links, as ours count the switch too; annotations; the scheme `ring`.
#pragma once

#include <string>
#include <vector>

#include "fabricast/discover/problems.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

struct InfraComponent {
  std::string name, choice;
  int count = 1;
};
struct InfraDevice {
  std::string name;
  std::vector<InfraComponent> components;
};
struct InfraInstance {
  std::string name, device;
  int count = 1;
  int line = 0;
};
struct InfraLink {
  std::string name;
  BytesPerSecond rate{0};  ///< 0: not told
};
struct InfraEndpoint {
  std::string instance, component;  ///< with their slices
  int line = 0, column = 0;
};
struct InfraEdge {
  InfraEndpoint a, b;
  std::string scheme = "one2one", link;
  int line = 0;
};

/// As read; names are not resolved.
struct InfraGraph {
  std::vector<InfraDevice> devices;
  std::vector<InfraInstance> instances;
  std::vector<InfraLink> links;
  std::vector<InfraEdge> edges;
};

/// Hosts in the order of instances; tiers are not decided. Faults go to `problems`.
FileFabric fabric_of_infragraph(const InfraGraph& graph, FileProblems& problems);

}  // namespace fabricast
