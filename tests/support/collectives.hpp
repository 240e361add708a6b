// Programs of collectives without computation: groups of a job's ranks, by steps of rank numbers.
#pragma once

#include <utility>
#include <vector>

#include "fabricast/traffic/flow_traffic.hpp"

namespace fabricast::test {

/// All ranks as one group.
inline RankGroups everyone(std::uint32_t ranks) {
  RankGroups groups(1);
  for (std::uint32_t r = 0; r < ranks; ++r) groups.front().push_back(r);
  return groups;
}

/// Groups of `size` ranks, `stride` apart, over ranks from `first` on, `count` of them.
inline RankGroups groups_of_ranks(std::uint32_t first, std::uint32_t count, std::uint32_t size, std::uint32_t stride) {
  RankGroups groups;
  for (std::uint32_t block = 0; block < count; block += size * stride)
    for (std::uint32_t r = 0; r < stride; ++r) {
      groups.emplace_back();
      for (std::uint32_t i = 0; i < size; ++i) groups.back().push_back(first + block + r + i * stride);
    }
  return groups;
}

/// Each of `count` ranks with the one `apart` ranks on.
inline RankGroups pairs_of_ranks(std::uint32_t first, std::uint32_t count, std::uint32_t apart) {
  RankGroups groups;
  for (std::uint32_t r = 0; r < count; ++r) groups.push_back({first + r, first + r + apart});
  return groups;
}

class Collectives {
 public:
  /// \returns its number
  std::uint32_t add(CollectiveOp op, std::int64_t bytes, RankGroups groups, Part part = Part::data) {
    program.groups.push_back(std::move(groups));
    return again(op, bytes, static_cast<std::uint32_t>(program.groups.size() - 1), part);
  }
  /// Of groups that are there.
  std::uint32_t again(CollectiveOp op, std::int64_t bytes, std::uint32_t groups, Part part = Part::data) {
    const bool pairs = op == CollectiveOp::sendrecv && program.groups[groups].front().size() == 2;
    program.collectives.push_back({"", part, op, bytes, groups, pairs, {}});
    return static_cast<std::uint32_t>(program.collectives.size() - 1);
  }
  Program program;
};

inline std::vector<double> paces(Traffic& traffic, const std::vector<std::uint32_t>& kinds) {
  std::vector<double> found(kinds.size());
  traffic.paces(kinds, found);
  return found;
}

}  // namespace fabricast::test
