// A cluster in the format of InfraGraph [InfraGraph]: devices made of components, instances of devices, and edges
// between slices of them: `host[0:4]`, `nic[0:2]`, or `cx5[0].port[0]` in composed devices.
//
// An instance is a host if its device has an xpu (npu before version 1), otherwise a switch. The fabric consists of the
// edges between a nic or port of a host and a switch, and between switches. Other edges (NVLink between xpus and their
// switches) and the inside of devices are left out, because the node of the scenario describes them. Names are those of
// InfraGraph: `host.3.nic.0`, `leafsw.1`. Slices are those of Python: the end is excluded, `[2]` is one index, and no
// brackets mean all.
//
//   edge host[0:4].nic[0:2] to leafsw[0].port[0:8], one2one:   8 cables, nic.0 and nic.1 of host.0 first
//
// A small file can stand for many cables: endpoints and edges of more than four million are errors.
//
// Not read: latencies of links, because latencies here include the switch; annotations; the scheme `ring`.
//
// Plain values, and a pure function that is safe to call concurrently.
#pragma once

#include <string>
#include <vector>

#include "fabricast/discover/problems.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

/// A component of a device, `count` times.
struct InfraComponent {
  std::string name;
  std::string choice;  ///< kind: `xpu`, `nic`, `port`, `device` (then `name` is a device), ...
  int count = 1;
};
/// A type of device.
struct InfraDevice {
  std::string name;
  std::vector<InfraComponent> components;
};
/// `count` devices of one type.
struct InfraInstance {
  std::string name, device;
  int count = 1;
  int line = 0;  ///< in the file, from 1, here and below
};
/// A type of link.
struct InfraLink {
  std::string name;
  BytesPerSecond rate{0};  ///< 0: not stated
};
/// One side of an edge.
struct InfraEndpoint {
  std::string instance, component;  ///< with slices; a component inside a device is `cx5[0].port[0]`
  int line = 0, column = 0;
};
/// Links between all ends of two sides.
struct InfraEdge {
  InfraEndpoint a, b;
  std::string scheme = "one2one";  ///< the ends pair by pair, in equal numbers; or `many2many`: each with each
  std::string link;                ///< type of the links
  int line = 0;
};

/// The contents of a file; names are not resolved. sim/scenario/infragraph_reader.cpp reads it from YAML and JSON.
struct InfraGraph {
  std::vector<InfraDevice> devices;
  std::vector<InfraInstance> instances;
  std::vector<InfraLink> links;
  std::vector<InfraEdge> edges;
};

/// The fabric of an InfraGraph. Hosts are in the order of instances, with their NICs in natural order (`nic.2` before
/// `nic.10`), and all switches are leaves until find_tiers (discover/fabric.hpp). Instances without a cable are left
/// out.
/// \param problems  receives errors, such as unknown names and wrong slices, and a warning about edges that were left
///                  out
FileFabric fabric_of_infragraph(const InfraGraph& graph, FileProblems& problems);

}  // namespace fabricast
