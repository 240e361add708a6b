// NCCL's version and environment, as far as they decide how a collective runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/collective/communicator.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/fabric/node_graph.hpp"
#include "fabricast/planner/graph.hpp"

namespace fabricast {

/// `2.18`, `2.21.5`. Empty if the text is no version.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
std::string to_text(const NcclVersion& version);

/// Which (operation, algorithm) or (operation, protocol) pairs NCCL_ALGO and NCCL_PROTO leave enabled.
struct EnabledAlgorithms {
  std::array<std::array<bool, algorithm_count>, 5> of;  ///< [operation][algorithm]
};
enum class ProtocolSwitch { off, on, automatic };
struct EnabledProtocols {
  std::array<std::array<ProtocolSwitch, 3>, 5> of;
};

/// NCCL_* variables, parsed. Absent means NCCL's default.
struct NcclSettings {
  NcclVersion version;
  EnabledAlgorithms algorithms;
  EnabledProtocols protocols;
  bool algorithms_given = false, protocols_given = false;
  std::optional<int> min_channels, max_channels;
  std::optional<Bytes> buffer_size;
  std::optional<int> threads;
  int qps_per_connection = 1;
  bool split_data_on_qps = false;
  int cross_nic = 2;
  std::optional<PathType> gdr_level;
  int nvls_enable = 2;
  bool collnet_enable = false;
  int pat_enable = 2;
  std::optional<double> net_overhead_us;
  std::string topology_file, graph_file;     ///< NCCL_TOPO_FILE, NCCL_GRAPH_FILE as given; empty: none
  std::optional<SearchGraphs> given_graphs;  ///< what stands in the graph file
};

/// \throws UserError for values NCCL would refuse; appends warnings (variables without effect here, unknown ones).
NcclSettings parse_nccl_environment(const NcclVersion& version, const std::map<std::string, std::string>& environment,
                                    std::vector<Diagnostic>& warnings);

}  // namespace fabricast
