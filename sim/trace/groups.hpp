// Process groups: from a file, from a trace's own metadata, from dimensions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rank_trace.hpp"

namespace fabricast::trace {

/// Groups of ranks by name. A name has several groups if ranks share a trace; a rank takes the group that contains it.
using NamedGroups = std::map<std::string, std::vector<std::vector<std::uint32_t>>>;

/// Reads JSON such as `{"0": [0, 1], "tensor": [[0, 1], [2, 3]]}`.
/// \param file  name of the file in messages
/// \throws UserError with the position in the file
NamedGroups parse_groups(const std::string& file, std::string_view text);

/// The process groups that PyTorch writes into a node named `process_group:init`: a list of objects with `pg_name` and
/// `ranks`, as text, in quotes or not. Empty if the text contains no such list.
/// \throws UserError if a group contains a rank twice, or a value that is not a rank
std::vector<TraceGroup> parse_process_groups(std::string_view values);

/// The process groups that collectives of ranks name, with their members. Each group exists once.
class GroupTable {
 public:
  struct Group {
    std::string name;
    std::vector<std::uint32_t> ranks;
  };
  /// \param named  groups of a file, which override those of the traces
  /// \param file  name of that file in messages
  /// \param dimensions  sizes, fastest first; empty: none
  /// \throws UserError if the product of the dimensions is not `ranks`, or a group contains a rank that does not exist
  GroupTable(NamedGroups named, std::string file, std::vector<int> dimensions, std::uint32_t ranks);

  /// The group of a rank's collective, as an index into groups(). Fastest if called rank by rank.
  /// \throws UserError if the group is not defined or is invalid for the rank; the message continues `node ID`, without
  ///         a position
  std::uint32_t find(const RankTrace& trace, std::uint32_t rank, const CommNode& comm);
  const std::vector<Group>& groups() const { return groups_; }

 private:
  std::uint32_t keep(const std::string& name, std::vector<std::uint32_t> ranks);
  std::vector<std::uint32_t> members(const RankTrace& trace, std::uint32_t rank, const std::string& name) const;
  std::vector<std::uint32_t> along(std::uint32_t rank, const std::vector<bool>& dimensions) const;

  NamedGroups named_;
  std::string file_;
  std::vector<int> dimensions_;
  std::uint32_t ranks_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint32_t> index_;
  std::map<std::pair<std::string, std::vector<bool>>, std::uint32_t> of_rank_;  ///< cache for last_rank_
  std::uint32_t last_rank_ = none;
};

}  // namespace fabricast::trace
