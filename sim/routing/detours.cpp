// Detours (detours.hpp).
#include "detours.hpp"

namespace fabricast {

Detours::Detours(const GraphPaths& paths) : paths_(paths) {
  const std::uint32_t switches = paths.switches();
  std::vector<bool> has_nics(switches, false);
  for (std::uint32_t e = 0; e < paths.fabric().endpoints(); ++e)
    if (paths.port(e).at != GraphPaths::none) has_nics[paths.port(e).at] = true;
  std::vector<std::uint32_t> group_sizes(switches, 0);
  for (std::uint32_t s = 0; s < switches; ++s) {
    group_.push_back(paths.group_of(s));
    grouped_ |= ++group_sizes[group_[s]] > 1;
    if (has_nics[s]) with_nics_.push_back(s);
  }
  if (!grouped_) return;
  in_group_.resize(switches);
  for (const std::uint32_t s : with_nics_) in_group_[group_[s]].push_back(s);
}

std::span<const std::uint32_t> Detours::among(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return {};
  if (!within(from, to)) return with_nics_;
  const std::vector<std::uint32_t>& group = in_group_[group_[from]];
  if (group.size() < 3 || paths_.distance(from, to) != 1) return {};
  return group;
}

bool Detours::suits(std::uint32_t from, std::uint32_t over, std::uint32_t to) const {
  if (within(from, to)) return paths_.distance(from, over) == 1 && paths_.distance(over, to) == 1;
  if (group_[over] == group_[from] || group_[over] == group_[to]) return false;
  return !paths_.state().any_down() ||
         (paths_.distance(from, over) != GraphPaths::far && paths_.distance(over, to) != GraphPaths::far);
}

}  // namespace fabricast
