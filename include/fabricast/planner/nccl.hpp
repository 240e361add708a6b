// NCCL's version and environment, as far as they decide how a collective runs.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabricast/collective/communicator.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/fabric/node_graph.hpp"
#include "fabricast/planner/graph.hpp"

namespace fabricast {

/// From 2.24 on NCCL_ALGO and NCCL_PROTO are strict: lists by function, and no way back to NCCL's own choice if a list
/// leaves nothing [NCCL-env].
inline constexpr NcclVersion strict_lists{2, 24, 0};
/// From when on NVLS, and send and receive, work on registered buffers; and kernels on symmetric memory
/// [NCCL-registration] [NCCL-symmetric].
inline constexpr NcclVersion nvls_in_place{2, 19, 0}, peers_in_place{2, 23, 0}, symmetric_kernels_since{2, 27, 0};
/// The newest version whose rules the planner has.
inline constexpr NcclVersion newest_nccl{2, 32};
inline constexpr int most_channels = 64, most_sockets = 64;  ///< of NCCL

/// `2.18`, `2.21.5`. Empty if the text is no version.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
std::string to_text(const NcclVersion& version);

/// The versions that a scenario's may be: one, `2.18-2.21`, or `unknown` (all that know the GPU).
struct NcclVersions {
  NcclVersion first, last;
  bool known() const { return first == last; }
  bool contain(const NcclVersion& v) const { return first <= v && v <= last; }
};
/// Empty if the text is neither a version, nor a range of two, nor `unknown`.
std::optional<NcclVersions> parse_nccl_versions(std::string_view text, int compute_capability);
/// One version of each kind that the model tells apart: the first of the range, and each in it where something changed.
/// \param ofi_plugin  whether the network is EFA
std::vector<NcclVersion> distinct_versions(const NcclVersions& versions, Buffers buffers = Buffers::plain,
                                           bool ofi_plugin = false);

/// A version that is in use, and how probably.
struct UsualVersion {
  NcclVersion version;
  double weight = 0;
};
/// Those of machines with such GPUs, the oldest first; their weights are 1 together.
std::span<const UsualVersion> usual_versions(int compute_capability);
/// The middle one: taken where none is given.
NcclVersion usual_version(int compute_capability);

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
  int nvls_enable = 2, pat_enable = 2;
  bool collnet_enable = false;
  std::optional<int> collnet_node_threshold;
  std::optional<double> net_overhead_us;
  bool ofi_tuner = true;  ///< on EFA its plugin may choose (ofi_plugin.hpp)

  // Channels, threads, buffers and chunks of collectives.
  std::optional<int> min_channels, max_channels, nvls_channels;
  std::optional<int> threads, ll128_threads;
  /// Bytes per thread, [tree, ring][protocol]; negative: NCCL's.
  std::array<std::array<std::int64_t, 3>, 2> thread_thresholds{{{-1, -1, -1}, {-1, -1, -1}}};
  std::optional<Bytes> ll_buffer_size, ll128_buffer_size, buffer_size;
  std::optional<Bytes> nvls_chunk, nvlstree_chunk;

  // The caller's buffers.
  std::optional<bool> local_register, window_enable;
  bool zero_blocks = false;  ///< policy ZERO: copy engines in place of thread blocks
  std::optional<std::string> symmetric_kernel;
  std::optional<int> symmetric_blocks;

  // Send and receive.
  std::optional<int> min_p2p_channels, max_p2p_channels, channels_per_net_peer;
  std::optional<Bytes> p2p_net_chunk, p2p_pci_chunk, p2p_nvl_chunk, p2p_ll_threshold;
  std::optional<int> p2p_pxn_level;

  // Inside the node.
  std::optional<bool> p2p_disable, shm_disable;
  std::optional<PathType> p2p_level;
  std::optional<int> mnnvl_enable;

  // NICs and network.
  std::optional<std::string> ib_hca, net;
  std::optional<bool> ib_disable, merge_nics, pxn_disable, adaptive_routing;
  std::optional<PathType> gdr_level;
  std::optional<bool> gdr_read;
  std::optional<Bytes> ar_threshold;
  std::optional<int> socket_threads, sockets_per_thread;
  int cross_nic = 2;
  int qps_per_connection = 1;
  bool split_data_on_qps = false;
  std::optional<SearchGraphs> given_graphs;  ///< what stands in NCCL_GRAPH_FILE
};

/// \throws UserError for values NCCL would refuse; appends warnings (variables without effect here, unknown ones).
NcclSettings parse_nccl_environment(const NcclVersion& version, const std::map<std::string, std::string>& environment,
                                    std::vector<Diagnostic>& warnings);

}  // namespace fabricast
