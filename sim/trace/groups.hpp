// Process groups: from a file, from a trace's own metadata, from dimensions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rank_trace.hpp"

namespace fabricast::trace {

/// By name: the groups of ranks that have it. One, or, where ranks share a trace, one for each rank.
using NamedGroups = std::map<std::string, std::vector<std::vector<std::uint32_t>>>;

/// `{"0": [0, 1], "tensor": [[0, 1], [2, 3]]}`.
/// \throws UserError with the place in the file
NamedGroups parse_groups(const std::string& file, std::string_view text);

/// What PyTorch writes of its process groups into a node named `process_group:init`: a list of objects with `pg_name`
/// and `ranks`, as text, in quotes or not. Nothing if it is none.
std::vector<TraceGroup> parse_process_groups(std::string_view values);

/// The members of the process groups that ranks' exchanges name, each group once.
class GroupTable {
 public:
  struct Group {
    std::string name;
    std::vector<std::uint32_t> ranks;
  };
  /// \param named  of a file; goes before the traces' own
  GroupTable(NamedGroups named, std::string file, std::vector<int> dimensions, std::uint32_t ranks);

  /// The group of a rank's exchange. \throws UserError  a message of the node
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
  std::map<std::pair<std::string, std::vector<bool>>, std::uint32_t> of_rank_;  ///< of the rank asked for last
  std::uint32_t last_rank_ = none;
};

}  // namespace fabricast::trace
