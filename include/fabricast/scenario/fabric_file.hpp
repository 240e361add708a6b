// What `fabric: {kind: file, path: ...}` may name, told by its content: our own fabric file (YAML or JSON), the output of
// ibnetdiscover or iblinkinfo, Slurm's topology.conf or topology.yaml, or an
// InfraGraph.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/discover/slurm.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

struct FabricFileOptions {
  int nics = 0;                    ///< NIC ports of a node; 0: as many as most hosts have, 1 where no file tells
  std::vector<std::string> names;  ///< the NICs that count, in order; empty: all
  std::vector<std::string> order;  ///< hosts in the order of their numbers; empty: that of the file
  double oversubscription = 1;     ///< of files without cables
};

struct FabricFileResult {
  FileFabric fabric;
  std::string_view format;  ///< "ibnetdiscover", "iblinkinfo", "topology.conf", "InfraGraph", "fabric file"
  std::vector<Diagnostic> warnings;
  std::map<std::string, SourceSpan> places;  ///< of keys, in our own format
};

struct NamedText {
  std::string file, text;
};

/// topology.conf or topology.yaml.  \throws UserError
SlurmTopology read_slurm(const NamedText& named);

/// Several texts are subnets that the same hosts are on.
/// \throws UserError with what is wrong, by line
FabricFileResult read_fabric_file(const std::vector<NamedText>& texts, const FabricFileOptions& options);

}  // namespace fabricast
