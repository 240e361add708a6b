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
    grouped_ |= ++group_sizes[paths.group_of(s)] > 1;
    if (has_nics[s]) with_nics_.push_back(s);
  }
  if (!grouped_) return;
  in_group_.resize(switches);
  for (const std::uint32_t s : with_nics_) in_group_[paths.group_of(s)].push_back(s);
}

std::span<const std::uint32_t> Detours::among(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return {};
  if (!within(from, to)) return with_nics_;
  const std::vector<std::uint32_t>& group = in_group_[paths_.group_of(from)];
  if (group.size() < 3 || paths_.distance(from, to) != 1) return {};
  return group;
}

bool Detours::suits(std::uint32_t from, std::uint32_t over, std::uint32_t to) const {
  if (within(from, to)) return paths_.distance(from, over) == 1 && paths_.distance(over, to) == 1;
  const std::uint32_t group = paths_.group_of(over);
  if (group == paths_.group_of(from) || group == paths_.group_of(to)) return false;
  return !paths_.state().any_down() ||
         (paths_.distance(from, over) != GraphPaths::far && paths_.distance(over, to) != GraphPaths::far);
}

}  // namespace fabricast
