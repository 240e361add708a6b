// Builds a program whose activities may depend on activities added later. Dependencies are sorted into lists at the
// end.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabricast/workload/program.hpp"

namespace fabricast {

struct KvTransfer;

/// Collects activities, dependencies and tables of a program.
class ProgramBuilder {
 public:
  using Id = std::uint32_t;
  Program program;

  Id add(const Activity& activity, std::span<const Place> places) { return program.add(activity, places, {}); }
  void depends(Id after, Id before) { pairs_.emplace_back(after, before); }

  /// Index of a label; equal labels share one.
  std::uint32_t label(const std::string& text) {
    const auto [it, fresh] = labels_.try_emplace(text, static_cast<std::uint32_t>(program.labels.size()));
    if (fresh) program.labels.push_back(text);
    return it->second;
  }
  std::uint32_t groups(RankGroups groups) {
    program.groups.push_back(std::move(groups));
    return static_cast<std::uint32_t>(program.groups.size() - 1);
  }
  /// Index of a collective kind; equal kinds share one.
  std::uint32_t collective(CollectiveKind kind) {
    const auto key = std::tuple(kind.groups, kind.op, kind.bytes, kind.one_way, kind.part);
    const auto [it, fresh] = collectives_.try_emplace(key, static_cast<std::uint32_t>(program.collectives.size()));
    if (fresh) program.collectives.push_back(std::move(kind));
    return it->second;
  }

  /// The finished program; call once, at the end.
  Program finish() {
    std::vector<Activity>& all = program.activities;
    std::vector<std::uint32_t> first(all.size() + 1, 0);
    for (const auto& [after, before] : pairs_) ++first[after + 1];
    for (std::size_t i = 0; i < all.size(); ++i) first[i + 1] += first[i], all[i].first_dependency = first[i];
    program.dependencies.resize(pairs_.size());
    for (const auto& [after, before] : pairs_) program.dependencies[first[after]++] = before;
    return std::move(program);
  }

 private:
  std::vector<std::pair<Id, Id>> pairs_;  ///< after, before
  std::map<std::string, std::uint32_t> labels_;
  std::map<std::tuple<std::uint32_t, CollectiveOp, std::int64_t, bool, Part>, std::uint32_t> collectives_;
};

/// Adds the collective kinds of a KV-cache transfer: one for each set of pairs and rail, all of which run at once.
std::vector<std::uint32_t> kv_transfer_kinds(const KvTransfer& kv_transfer, ProgramBuilder& builder);

}  // namespace fabricast
