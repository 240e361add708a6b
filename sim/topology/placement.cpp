// Placement policies. The free hosts form a tree of groups and leaves, from which each policy selects hosts in rank
// order.
//
// Policies work on units, the hosts of an NCCL node, and see of the fabric only leaves and groups (locality.cpp). Ties
// are resolved by number, so that a placement is reproducible. docs/models/jobs.md describes the policies.
// topology_aware uses the idea of Slurm's tree topology, but is not the same algorithm [Slurm-topology].
#include "fabricast/topology/placement.hpp"

#include <algorithm>
#include <map>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// A part of the fabric: a leaf with its units, a group of leaves, or all groups.
struct Part {
  std::vector<Part> parts;      ///< by number; empty for a leaf
  std::vector<HostUnit> units;  ///< for a leaf, ascending
  std::size_t free = 0;         ///< number of free units
};

Part whole_of(const Locality& at, std::vector<HostUnit> free) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<HostUnit>>> groups;
  for (HostUnit& unit : free) {
    const std::uint32_t host = unit.front();
    // The first host of a unit stands for it: an NVLink domain is assumed to be on one leaf.
    groups[at.group[host]][at.leaf[host]].push_back(std::move(unit));
  }
  Part whole;
  for (auto& [group_number, leaves] : groups) {
    Part group;
    for (auto& [leaf_number, units] : leaves) {
      Part leaf;
      leaf.free = units.size();
      leaf.units = std::move(units);
      group.free += leaf.free;
      group.parts.push_back(std::move(leaf));
    }
    whole.free += group.free;
    whole.parts.push_back(std::move(group));
  }
  return whole;
}

std::vector<Part> leaves_of(Part whole) {
  std::vector<Part> leaves;
  for (Part& group : whole.parts)
    for (Part& leaf : group.parts) leaves.push_back(std::move(leaf));
  return leaves;
}

/// Sorts by free units, most first, and by number if these are equal.
void sort_by_free(std::vector<Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.free > b.free; });
}

using Units = std::vector<HostUnit>;

void take(const Part& leaf, std::size_t count, Units& taken) {
  taken.insert(taken.end(), leaf.units.begin(), leaf.units.begin() + static_cast<std::ptrdiff_t>(count));
}

// Fullest use of few leaves, without regard to what remains for others.
Units packed(std::vector<Part> leaves, std::size_t wanted) {
  sort_by_free(leaves);
  Units taken;
  for (const Part& leaf : leaves) take(leaf, std::min(leaf.free, wanted - taken.size()), taken);
  return taken;
}

// Round r takes the r-th free unit of each leaf, so neighbours in rank order are on different leaves.
Units spread(const std::vector<Part>& leaves, std::size_t wanted) {
  Units taken;
  for (std::size_t round = 0; taken.size() < wanted; ++round)
    for (const Part& leaf : leaves)
      if (round < leaf.free && taken.size() < wanted) taken.push_back(leaf.units[round]);
  return taken;
}

/// Uses the fewest leaves that hold the job, those with the most free units. Each contributes the same number, as far
/// as it has free units.
Units rail_aligned(std::vector<Part> leaves, std::size_t wanted) {
  sort_by_free(leaves);
  std::size_t count = 0;
  for (std::size_t room = 0; room < wanted; ++count) room += leaves[count].free;
  leaves.resize(count);
  // Leaves with the fewest free units first, so that the others take over what these lack.
  std::vector<std::size_t> of(count);
  std::size_t left = wanted;
  for (std::size_t i = count; i-- > 0;) {
    of[i] = std::min(leaves[i].free, left / (i + 1));
    left -= of[i];
  }
  // What rounding has left over goes to leaves that still have room.
  for (std::size_t i = 0; left > 0; i = (i + 1) % count)
    if (of[i] < leaves[i].free) {
      ++of[i];
      --left;
    }
  Units taken;
  for (std::size_t i = 0; i < count; ++i) take(leaves[i], of[i], taken);
  return taken;
}

/// Distributes the wanted units over the parts by best fit:
///   if a single part can hold them all:  the one with the fewest free units
///   otherwise:                           the part with the most free units contributes all of them, and the rest is
///                                        distributed over the other parts in the same way
void best_fit(const Part& part, std::size_t wanted, std::vector<Units>& by_leaf) {
  if (part.parts.empty()) {
    by_leaf.emplace_back();
    return take(part, wanted, by_leaf.back());
  }
  std::vector<const Part*> left;
  for (const Part& p : part.parts) left.push_back(&p);
  std::stable_sort(left.begin(), left.end(), [](const Part* a, const Part* b) { return a->free > b->free; });
  while (wanted > 0) {
    auto chosen = left.begin();
    // The parts are sorted by free units, so the last one that holds the rest is the tightest; of equal ones the first.
    if ((*chosen)->free >= wanted) {
      const auto end = std::find_if(left.begin(), left.end(), [&](const Part* p) { return p->free < wanted; });
      chosen = std::find_if(left.begin(), end, [&](const Part* p) { return p->free == (*std::prev(end))->free; });
    }
    const std::size_t count = std::min(wanted, (*chosen)->free);
    best_fit(**chosen, count, by_leaf);
    wanted -= count;
    left.erase(chosen);
  }
}

/// Places the job in the smallest part that holds it: the tightest leaf of the whole fabric, else the tightest group,
/// else several groups.
Units topology_aware(const Part& whole, std::size_t wanted) {
  std::vector<Units> by_leaf;
  // A leaf of any group that holds the job is better than the tightest group: no traffic then leaves the leaf.
  const Part* tightest = nullptr;
  for (const Part& group : whole.parts)
    for (const Part& leaf : group.parts)
      if (leaf.free >= wanted && (!tightest || leaf.free < tightest->free)) tightest = &leaf;
  best_fit(tightest ? *tightest : whole, wanted, by_leaf);
  Units taken;
  for (Units& units : by_leaf) taken.insert(taken.end(), units.begin(), units.end());
  return taken;
}

Units choose(Placement placement, const Locality* locality, Units free, std::size_t wanted, std::uint64_t seed) {
  // The only policy that needs the seed.
  if (placement == Placement::random) {
    Rng rng(seed);
    shuffle(free, rng);
  }
  if (!needs_fabric(placement)) {
    free.resize(wanted);
    return free;
  }
  FABRICAST_CHECK(locality, "the placement needs the localities of hosts");
  Part whole = whole_of(*locality, std::move(free));
  switch (placement) {
    case Placement::packed: return packed(leaves_of(std::move(whole)), wanted);
    case Placement::spread: return spread(leaves_of(std::move(whole)), wanted);
    case Placement::rail_aligned: return rail_aligned(leaves_of(std::move(whole)), wanted);
    default: return topology_aware(whole, wanted);
  }
}

}  // namespace

std::vector<HostUnit> units_of(const std::vector<std::uint32_t>& free, std::uint32_t domain, std::uint32_t hosts) {
  // Units do not cross NVLink domains: free hosts that are left over in a domain are not used.
  std::vector<HostUnit> units;
  for (std::size_t i = 0; i < free.size();) {
    const std::uint32_t number = free[i] / domain;
    std::size_t end = i;
    while (end < free.size() && free[end] / domain == number) ++end;
    for (; i + hosts <= end; i += hosts)
      units.emplace_back(free.begin() + static_cast<std::ptrdiff_t>(i),
                         free.begin() + static_cast<std::ptrdiff_t>(i + hosts));
    i = end;
  }
  return units;
}

std::vector<std::uint32_t> place_units(Placement placement, const Locality* locality, std::vector<HostUnit> free,
                                       std::size_t wanted, std::uint64_t seed) {
  FABRICAST_CHECK(placement != Placement::list && wanted <= free.size(), "not enough free units, or a list of hosts");
  std::vector<std::uint32_t> hosts;
  for (const HostUnit& unit : choose(placement, locality, std::move(free), wanted, seed))
    hosts.insert(hosts.end(), unit.begin(), unit.end());
  return hosts;
}

}  // namespace fabricast
