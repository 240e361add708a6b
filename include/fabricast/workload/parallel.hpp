// How a step is split over GPUs: degrees of parallelism, the order in which ranks fill them, and the groups that result.
//
// Rank r has a coordinate in each dimension. `order` lists dimensions from the one that varies fastest: Megatron's
// `tp-cp-ep-dp-pp` puts the ranks of a tensor group side by side, and pipeline stages farthest apart. Rank r is GPU
// r % g of the job's host r / g. Expert parallelism takes its ranks out of data (and context) parallelism: `expert`
// divides data x context, or all of tensor x data x context where experts are not split by tensor parallelism.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

enum class Dimension { tensor, context, data, pipeline };
template <>
struct EnumNames<Dimension> {
  static constexpr std::array<std::string_view, 4> names{"tensor", "context", "data", "pipeline"};
};

/// How many ways a step is split. All at least 1.
struct ParallelLayout {
  int tensor = 1, context = 1, data = 1, pipeline = 1;
  int expert = 1;         ///< of data x context ranks
  int expert_tensor = 1;  ///< ways that each expert is split; 1 or `tensor`, in inference more, too
  int shard = 1;          ///< ranks that share the state of ZeRO: of data x context; fewer than all: hybrid sharding
  /// From the dimension that varies fastest.
  std::array<Dimension, 4> order{Dimension::tensor, Dimension::context, Dimension::data, Dimension::pipeline};

  std::int64_t ranks() const { return std::int64_t{tensor} * context * data * pipeline; }
  int size(Dimension d) const;
  /// Coordinates of a rank, indexed by Dimension.
  std::array<int, 4> coordinates(std::int64_t rank) const;
  std::int64_t rank(const std::array<int, 4>& coordinates) const;
};

using RankGroups = std::vector<std::vector<std::uint32_t>>;

/// The groups of a pipeline stage whose ranks differ only in the given dimensions: members in the layout's order, groups
/// in order of their first rank.
RankGroups groups_of(const ParallelLayout& layout, int stage, const std::vector<Dimension>& dimensions);
/// Groups cut into parts of `size` members: neighbours, or members as far apart as can be. \pre size divides them
RankGroups split_neighbours(const RankGroups& groups, int size);
RankGroups split_apart(const RankGroups& groups, int size);
/// The groups of a stage that share experts. \pre expert is more than 1
RankGroups expert_groups(const ParallelLayout& layout, int stage);
/// NVLink domains of so many ranks that each group spans, if all span alike many and have as many neighbours in each; else as
/// many as a group has ranks: each is then by itself.
int domains_of(const RankGroups& groups, int nvlink_ranks);
/// Ranks of one stage with those that take over from them in another.
RankGroups stage_pairs(const ParallelLayout& layout, int from, int to);

}  // namespace fabricast
