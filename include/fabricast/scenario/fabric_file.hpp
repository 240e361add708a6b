// Reads the file of `fabric: {kind: file, path: ...}` and of `fabricast import fabric`.
//
// The format is recognized by the content: Fabricast's own fabric file (YAML or JSON), the output of ibnetdiscover or
// iblinkinfo, Slurm's topology.conf or topology.yaml, or an InfraGraph. docs/imports.md describes them. All but our own
// format are converted to a FileFabric; Slurm's files have no cables, so a tree with uniform oversubscription is
// assumed.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/discover/slurm.hpp"
#include "fabricast/topology/file.hpp"

namespace fabricast {

/// Selects and orders what a file contains.
struct FabricFileOptions {
  int nics = 0;                    ///< NIC ports per host; 0: the most frequent number, or 1 if the file has no NICs
  std::vector<std::string> names;  ///< the NICs to use, in order; empty: all
  std::vector<std::string> order;  ///< host names in the order of their numbers; empty: the order of the file
  double oversubscription = 1;     ///< down : up of each switch, for formats without cables
};

/// A fabric with what was found while reading it.
struct FabricFileResult {
  FileFabric fabric;
  std::string_view format;  ///< "ibnetdiscover", "iblinkinfo", "topology.conf", "InfraGraph", "fabric file"
  std::vector<Diagnostic> warnings;
  std::map<std::string, SourceSpan> places;  ///< positions of keys, for our own format only
};

/// A text with the name of its file, for messages.
struct NamedText {
  std::string file, text;
};

/// Slurm's topology.conf or topology.yaml.
/// \throws UserError with all errors of the file
SlurmTopology read_slurm(const NamedText& named);

/// Reads a fabric. Several texts are scans of InfiniBand subnets that the same hosts attach to.
/// \pre there is at least one text
/// \throws UserError with all errors of a text, by line
FabricFileResult read_fabric_file(const std::vector<NamedText>& texts, const FabricFileOptions& options);

}  // namespace fabricast
