// How a step is split over GPUs: degrees of parallelism, the order in which ranks fill the dimensions, and the groups
// that result.
//
// A rank has one coordinate per dimension. `order` lists the dimensions, the fastest varying first. Megatron's
// `tp-cp-ep-dp-pp` places the ranks of a tensor group next to each other, and pipeline stages farthest apart. Rank r is
// GPU r % g of the job's host r / g, with g GPUs per host. Expert parallelism takes its ranks from data (and context)
// parallelism: `expert` divides data x context, or tensor x data x context if tensor parallelism does not split
// experts.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// Dimensions of parallelism that take ranks of their own. Experts are spread over ranks of tensor, context and data.
enum class Dimension { tensor, context, data, pipeline };
template <>
struct EnumNames<Dimension> {
  static constexpr std::array<std::string_view, 4> names{"tensor", "context", "data", "pipeline"};
};

/// Degrees of parallelism, all at least 1.
struct ParallelLayout {
  int tensor = 1, context = 1, data = 1, pipeline = 1;
  int expert = 1;         ///< ranks that share the experts of a layer
  int expert_tensor = 1;  ///< ranks that split each expert: 1 or `tensor`, in inference also more
  int shard = 1;          ///< of data x context ranks, those over which ZeRO shards; fewer than all: hybrid sharding
  /// Dimensions, the fastest varying first.
  std::array<Dimension, 4> order{Dimension::tensor, Dimension::context, Dimension::data, Dimension::pipeline};

  /// Replicas of a model in inference that share experts, and have attention of their own. 1: none do.
  int sharing_replicas() const { return std::max(1, expert * expert_tensor / tensor); }
  /// Ranks of the whole job.
  std::int64_t ranks() const { return std::int64_t{tensor} * context * data * pipeline; }
  /// The degree of a dimension.
  int size(Dimension d) const;
  /// Coordinates of a rank, indexed by Dimension.
  std::array<int, 4> coordinates(std::int64_t rank) const;
  /// Inverse of coordinates().
  std::int64_t rank(const std::array<int, 4>& coordinates) const;
};

/// Groups of ranks that run a collective, each in the order of its members.
using RankGroups = std::vector<std::vector<std::uint32_t>>;

/// The groups of a pipeline stage whose ranks differ only in the given dimensions. Members are in the layout's order,
/// groups in the order of their first rank. Linear in the ranks of the stage, with a logarithm of the number of groups.
RankGroups groups_of(const ParallelLayout& layout, int stage, const std::vector<Dimension>& dimensions);
/// Cuts each group into parts of `size` consecutive members. \pre size divides the groups
RankGroups split_neighbours(const RankGroups& groups, int size);
/// Cuts each group into parts of `size` members that are equally far apart. \pre size divides the groups
RankGroups split_apart(const RankGroups& groups, int size);
/// The groups of a stage that share the experts of a layer. \pre expert is more than 1
RankGroups expert_groups(const ParallelLayout& layout, int stage);
/// Number of NVLink domains of `nvlink_ranks` ranks that a group spans, if all groups span the same number and have the
/// same number of members in each domain. Otherwise the size of a group, as if each member were in a domain of its own.
/// \pre there is a group, and members of each are in ascending order
int domains_of(const RankGroups& groups, int nvlink_ranks);
/// Pairs of a rank of stage `from` with the rank of stage `to` that has the same other coordinates.
RankGroups stage_pairs(const ParallelLayout& layout, int from, int to);

}  // namespace fabricast
