#include "groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace fabricast::trace {

namespace {

using Json = nlohmann::json;

std::vector<std::uint32_t> ranks_from(const Json& list) {
  std::vector<std::uint32_t> ranks;
  for (const Json& r : list) {
    if (!r.is_number_unsigned() || r.get<std::uint64_t>() >= none)
      throw UserError(fmt::format("contains '{}', which is not a rank", r.is_number() ? r.dump() : r.type_name()));
    ranks.push_back(r.get<std::uint32_t>());
  }
  std::vector<std::uint32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw UserError(fmt::format("contains rank {} twice", *twice));
  return ranks;
}

std::vector<std::vector<std::uint32_t>> lists_from(const Json& value) {
  if (!value.is_array() || value.empty()) throw UserError("is not a list of ranks");
  if (!value.front().is_array()) return {ranks_from(value)};
  std::vector<std::vector<std::uint32_t>> lists;
  for (const Json& list : value) {
    if (!list.is_array() || list.empty()) throw UserError("mixes ranks and lists of ranks, or contains an empty list");
    lists.push_back(ranks_from(list));
  }
  return lists;
}

}  // namespace

NamedGroups parse_groups(const std::string& file, std::string_view text) {
  const auto fail = [&](std::size_t byte, std::string message) {
    Diagnostic d;
    d.where = span_at(file, text, std::min(byte, text.size()));
    d.message = std::move(message);
    d.hint = R"(write {"0": [0, 1, 2, 3], "1": [[0, 2], [1, 3]]})";
    throw UserError(std::vector<Diagnostic>{std::move(d)});
  };
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& e) {
    fail(e.byte > 0 ? e.byte - 1 : 0, "the file is not valid JSON");
  } catch (const Json::out_of_range&) { fail(0, "the file contains a number that is too large"); }
  if (!root.is_object()) fail(0, "the file is not an object of process groups");
  NamedGroups named;
  for (const auto& [name, value] : root.items()) {
    try {
      named.emplace(name, lists_from(value));
    } catch (const UserError& e) {
      const std::size_t byte = text.find('"' + name + '"');
      fail(byte == std::string_view::npos ? 0 : byte,
           fmt::format("group '{}' {}", name, e.diagnostics().front().message));
    }
  }
  return named;
}

std::vector<TraceGroup> parse_process_groups(std::string_view values) {
  const std::size_t begin = values.find("[{"), end = values.rfind("}]");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  const Json list = Json::parse(values.substr(begin, end + 2 - begin), nullptr, false);
  if (!list.is_array()) return {};
  std::vector<TraceGroup> groups;
  for (const Json& item : list) {
    if (!item.is_object() || !item.contains("pg_name") || !item.contains("ranks") || !item["ranks"].is_array())
      continue;
    const Json& name = item["pg_name"];
    if (!name.is_string() && !name.is_number()) continue;
    groups.push_back({name.is_string() ? name.get<std::string>() : name.dump(), ranks_from(item["ranks"])});
  }
  return groups;
}

GroupTable::GroupTable(NamedGroups named, std::string file, std::vector<int> dimensions, std::uint32_t ranks)
    : named_(std::move(named)), file_(std::move(file)), dimensions_(std::move(dimensions)), ranks_(ranks) {
  std::int64_t product = 1;
  for (const int d : dimensions_) {
    product *= d;
    if (product > ranks_) break;
  }
  if (!dimensions_.empty() && product != ranks_)
    throw UserError::at("workload.dimensions", fmt::format("dimensions {} do not multiply to {} ranks",
                                                           fmt::join(dimensions_, " x "), ranks_));
  for (const auto& [name, lists] : named_)
    for (const std::vector<std::uint32_t>& list : lists)
      for (const std::uint32_t r : list)
        if (r >= ranks_) {
          Diagnostic d;
          d.where.file = file_;
          d.message = fmt::format("group '{}' contains rank {}, but the trace has {} ranks", name, r, ranks_);
          throw UserError(std::vector<Diagnostic>{std::move(d)});
        }
}

std::uint32_t GroupTable::keep(const std::string& name, std::vector<std::uint32_t> ranks) {
  const auto [at, is_new] = index_.try_emplace({name, ranks}, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({name, std::move(ranks)});
  return at->second;
}

std::vector<std::uint32_t> GroupTable::members(const RankTrace& trace, std::uint32_t rank,
                                               const std::string& name) const {
  if (const auto given = named_.find(name); given != named_.end()) {
    for (const std::vector<std::uint32_t>& list : given->second)
      if (std::find(list.begin(), list.end(), rank) != list.end()) return list;
    throw UserError(fmt::format("is a call on group '{}', but rank {} is not a member", name, rank));
  }
  for (const TraceGroup& group : trace.groups)
    if (group.name == name) {
      if (group.ranks.empty()) break;  // all ranks
      for (const std::uint32_t r : group.ranks)
        if (r >= ranks_)
          throw UserError(fmt::format("is a call on group '{}', which contains rank {}, but the trace has {} ranks",
                                      name, r, ranks_));
      if (std::find(group.ranks.begin(), group.ranks.end(), rank) == group.ranks.end())
        throw UserError(fmt::format("is a call on group '{}', but rank {} is not a member", name, rank));
      return group.ranks;
    }
  const bool is_known =
      std::any_of(trace.groups.begin(), trace.groups.end(), [&](const TraceGroup& g) { return g.name == name; });
  if (!name.empty() && !is_known)
    throw UserError(fmt::format("is a call on group '{}', which is not defined", name),
                    "write groups: FILE.json and list its ranks there");
  std::vector<std::uint32_t> all(ranks_);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

std::vector<std::uint32_t> GroupTable::along(std::uint32_t rank, const std::vector<bool>& involved) const {
  if (dimensions_.empty())
    throw UserError("involves only some dimensions, whose sizes are not specified",
                    "write the sizes, fastest first, e.g. dimensions: [8, 4]");
  // Generators write more flags than there are dimensions. Flags beyond the dimensions are ignored.
  std::vector<std::uint32_t> list{rank};
  std::uint32_t stride = 1;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const auto size = static_cast<std::uint32_t>(dimensions_[d]);
    if (d < involved.size() && involved[d]) {
      std::vector<std::uint32_t> more;
      more.reserve(list.size() * size);
      for (std::uint32_t k = 0; k < size; ++k)
        for (const std::uint32_t r : list) more.push_back(r - r / stride % size * stride + k * stride);
      list = std::move(more);
    }
    stride *= size;
  }
  return list;
}

std::uint32_t GroupTable::find(const RankTrace& trace, std::uint32_t rank, const CommNode& comm) {
  if (rank != last_rank_) {
    of_rank_.clear();
    last_rank_ = rank;
  }
  const std::pair key(comm.group, comm.group.empty() ? comm.dimensions : std::vector<bool>{});
  if (const auto known = of_rank_.find(key); known != of_rank_.end()) return known->second;
  const bool is_all = std::all_of(key.second.begin(), key.second.end(), [](bool b) { return b; });
  const std::uint32_t group =
      is_all ? keep(comm.group, members(trace, rank, comm.group)) : keep({}, along(rank, comm.dimensions));
  of_rank_.emplace(key, group);
  return group;
}

}  // namespace fabricast::trace
