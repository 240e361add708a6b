// Who may share counts, and for how long (collective_counts.hpp). The counts of a set of groups are dropped as soon as
// all hardware has timed it, because a step on a million GPUs has about 100 million uses of links.
#include "collective_counts.hpp"

namespace fabricast {

std::shared_ptr<CountStore> CollectiveCounts::of_team(std::uint32_t groups, std::uint32_t shape,
                                                      const Communicator& comm) {
  const std::scoped_lock lock(mutex_);
  const auto [it, fresh] = teams_.try_emplace({groups, shape});
  // On other hardware NCCL may find other channels. Then the connections differ, and nothing is shared.
  if (fresh) it->second = {comm, make_count_store(seed_)};
  return fresh || connects_alike(it->second.comm, comm) ? it->second.counts : nullptr;
}

void CollectiveCounts::forget(std::uint32_t groups) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(teams_, [&](const auto& known) { return known.first.first == groups; });
  std::erase_if(known_, [&](const auto& known) { return std::get<0>(known.first) == groups; });
}

}  // namespace fabricast
