// NCCL's version and environment variables, as far as they affect how a collective runs.
//
// Rules of the planner compare versions with `<` (docs/models/planner.md#versions). Variables come from the scenario's
// `nccl.env`, from profiles and from what a provider sets (provider.hpp); this header knows only their values. Most
// values that NCCL would silently ignore are errors here, so that no forecast is for another value than the one
// written.
//
// Pure functions and plain values; safe to call concurrently.
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
#include "fabricast/planner/tuner_rules.hpp"

namespace fabricast {

/// From this version on NCCL_ALGO and NCCL_PROTO are strict: lists by function, and an error instead of NCCL's own
/// choice if a list leaves nothing [NCCL-env].
inline constexpr NcclVersion strict_lists{2, 24, 0};
/// First versions in which NVLS, and send and receive, work on registered buffers, and first version with kernels for
/// symmetric memory [NCCL-registration] [NCCL-symmetric].
inline constexpr NcclVersion nvls_in_place{2, 19, 0}, peers_in_place{2, 23, 0}, symmetric_kernels_since{2, 27, 0};
/// The newest version whose rules the planner knows. Later versions are taken to follow its rules.
inline constexpr NcclVersion newest_nccl{2, 32};
inline constexpr int most_channels = 64, most_sockets = 64;  ///< limits of NCCL: of a communicator, of a connection

/// Parses `2.18` or `2.21.5`, and the forms in which releases, packages and NCCL itself state a version: `v2.24.3`,
/// `2.24.3-1`, `2.24.3+cuda12.6`, `22403`. Without a patch number it is the last patch, in which all backported changes
/// are included. Nothing if the text is not a version, or not one of NCCL 2.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
/// `2.18` or `2.21.5`. Patch 0 and the last patch are not written, so `2.21.0` reads back as the last patch of 2.21.
std::string to_text(const NcclVersion& version);

/// The possible versions of a scenario: one, a range such as `2.18-2.21`, or `unknown` (all that support the GPU).
struct NcclVersions {
  NcclVersion first, last;                      ///< both included; first <= last
  bool known() const { return first == last; }  ///< whether it is one version
  /// Whether `v` is one of them.
  bool contain(const NcclVersion& v) const { return first <= v && v <= last; }
};
/// Parses the key `nccl.version`. Nothing if the text is neither a version, nor a range, nor `unknown`. A range without
/// patch numbers begins with the first patch of its first version and ends with the last patch of its last.
/// \param compute_capability  of the GPU, 90 for sm_90: decides with which version `unknown` begins
std::optional<NcclVersions> parse_nccl_versions(std::string_view text, int compute_capability);
/// Such a text with versions in their short form: `2.24.3` for `v2.24.3-1` or `22403`. It reads back to the same
/// versions. A text that states no version stays as it is.
std::string usual_form(std::string_view text);
/// The versions between which rules of the model may differ: the first of the range, and each one in it that changed
/// something on such GPUs, in ascending order. Two neighbours may still agree on a given cluster and call. Each entry
/// costs a forecast: up to some thirty for `unknown`.
std::vector<NcclVersion> distinct_versions(const NcclVersions& versions, int compute_capability);

/// A version in use, and its probability.
struct UsualVersion {
  NcclVersion version;
  double weight = 0;
};
/// Versions in use on machines with such GPUs, in ascending order. Their weights add up to 1. That frameworks bundle
/// these versions is a fact [PyTorch-NCCL]; the weights are guesses.
std::span<const UsualVersion> usual_versions(int compute_capability);
/// Their weighted median, the default of scenarios without a version.
NcclVersion usual_version(int compute_capability);

/// Pairs of operation and algorithm that NCCL_ALGO leaves enabled. By default all are. Indexed by the first five values
/// of CollectiveOp and the first `algorithm_count` of Algorithm.
struct EnabledAlgorithms {
  std::array<std::array<bool, algorithm_count>, 5> of;  ///< [operation][algorithm]
};
/// Whether NCCL_PROTO allows a protocol; automatic: NCCL decides. That is the default of LL128 alone, which is safe
/// only where stores of 128 B stay whole; a list forces it on or off.
enum class ProtocolSwitch { off, on, automatic };
/// Pairs of operation and protocol that NCCL_PROTO leaves enabled.
struct EnabledProtocols {
  std::array<std::array<ProtocolSwitch, 3>, 5> of;  ///< [operation][protocol]
};

/// Parsed NCCL_* variables. Absent values stand for NCCL's default, which may depend on the node and is known only to
/// the code that uses the member. A member has the name of its variable unless a comment says otherwise;
/// docs/nccl-variables.md has the accepted values and the effect of each.
struct NcclSettings {
  NcclVersion version;  ///< whose defaults and grammar hold
  EnabledAlgorithms algorithms{};
  EnabledProtocols protocols{};
  bool algorithms_given = false, protocols_given = false;  ///< whether NCCL_ALGO and NCCL_PROTO are set
  int nvls_enable = 2, pat_enable = 2;                     ///< 0: off, 1: on, 2: where NCCL would use it
  bool collnet_enable = false;
  std::optional<int> collnet_node_threshold;
  std::optional<double> net_overhead_us;
  bool ofi_tuner = true;  ///< on EFA the OFI plugin may choose (ofi_plugin.hpp)

  // Channels, threads, buffers and chunks of collectives.
  std::optional<int> min_channels, max_channels, nvls_channels;
  std::optional<int> threads, ll128_threads;
  /// Bytes per thread, [tree, ring][protocol]; negative: NCCL's default.
  std::array<std::array<std::int64_t, 3>, 2> thread_thresholds{{{-1, -1, -1}, {-1, -1, -1}}};
  std::optional<Bytes> ll_buffer_size, ll128_buffer_size, buffer_size;
  std::optional<Bytes> nvls_chunk, nvlstree_chunk;

  // The caller's buffers.
  std::optional<bool> local_register, window_enable;  ///< false: such buffers act as plain ones
  bool zero_blocks = false;                           ///< policy ZERO: copy engines instead of thread blocks
  bool few_blocks = false;  ///< policy EFFICIENCY: NVLS on registered buffers, if it takes fewer thread blocks
  std::optional<std::string> symmetric_kernel;  ///< the only one that may run, by NCCL's name
  std::optional<int> symmetric_blocks;          ///< 0: NCCL decides

  // Send and receive.
  std::optional<int> min_p2p_channels, max_p2p_channels, channels_per_net_peer;
  std::optional<Bytes> p2p_net_chunk, p2p_pci_chunk, p2p_nvl_chunk, p2p_ll_threshold;
  std::optional<int> p2p_pxn_level;

  // Inside the node.
  std::optional<bool> p2p_disable, shm_disable;
  std::optional<PathType> p2p_level;  ///< largest distance of direct access between GPUs; LOC: none
  std::optional<int> mnnvl_enable;    ///< 0: each host of an NVLink domain is a node of its own

  // NICs and network.
  std::optional<std::string> ib_hca, net;
  std::optional<bool> ib_disable, merge_nics, pxn_disable, adaptive_routing;
  std::optional<PathType> gdr_level;  ///< largest distance between GPU and NIC for GPUDirect RDMA
  std::optional<bool> gdr_read;
  std::optional<Bytes> ar_threshold;
  std::optional<int> socket_threads, sockets_per_thread;
  int cross_nic = 2;                         ///< 0: a ring keeps its NIC, 1: it may change, 2: where it needs to
  int qps_per_connection = 1;                ///< queue pairs, each a flow of its own for ECMP
  bool split_data_on_qps = false;            ///< each message uses all of them; else they take turns
  std::optional<SearchGraphs> given_graphs;  ///< contents of NCCL_GRAPH_FILE
  std::vector<TunerRules> tuner;             ///< contents of NCCL_TUNER_CONFIG_FILE; empty: NCCL chooses
};

/// Parses variables. Appends warnings about unknown variables and those without effect on a forecast. Names are those
/// of the environment, in capitals. Of several variables that limit the channels the strictest counts.
/// \param version  decides which grammar and which defaults apply
/// \throws UserError with all values that are invalid or contradict each other, and names that do not begin with NCCL_;
///         paths are `nccl.env.NAME`. Warnings found before are appended even then
NcclSettings parse_nccl_environment(const NcclVersion& version, const std::map<std::string, std::string>& environment,
                                    std::vector<Diagnostic>& warnings);

}  // namespace fabricast
