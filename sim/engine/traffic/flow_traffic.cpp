// Collectives by kind, alone and in flight together (docs/models/traffic.md):
//
//   pace(k) = T_k / T'_k                       T: collective.hpp, T': meeting.hpp
//   k is independent  if for each link l that it uses
//     o_l + sum over sets of groups of  max over kinds j of the set of part_jl  <= 1,   or no other set uses l      (1)
//
// part_jl is the fraction of l that j takes when it is alone, and o_l the fraction that other jobs take. Kinds of one
// set are calls of the same communicators, which run one after the other. Therefore their maximum counts, not their
// sum.
#include "fabricast/traffic/flow_traffic.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"
#include "meeting.hpp"

namespace fabricast {

namespace {

/// The kinds of each set of groups.
std::vector<std::vector<std::uint32_t>> kinds_by_groups(const Program& program) {
  std::vector<std::vector<std::uint32_t>> kinds(program.groups.size());
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) kinds[program.collectives[k].groups].push_back(k);
  return kinds;
}

class FlowTraffic final : public Traffic {
 public:
  FlowTraffic(const World& world, const Program& program, std::uint64_t seed, std::size_t threads,
              std::shared_ptr<CollectiveCounts> counts = nullptr)
      : program_(program),
        threads_(threads),
        timer_(world, program, seed, std::move(counts)),
        collectives_(program.collectives.size()),
        meetings_(timer_, collectives_) {}

  /// Times a kind. Threads may call it concurrently for kinds of different groups.
  void time(std::uint32_t kind) {
    if (!collectives_[kind]) collectives_[kind] = timer_.time(program_.collectives[kind]);
  }

  const CollectiveTime& alone(std::uint32_t kind) override { return collective(kind).time; }

  bool is_independent(std::uint32_t kind) override {
    if (independent_.empty()) find_independent();
    return independent_[kind];
  }

  void paces(std::span<const std::uint32_t> kinds, std::span<double> paces) override {
    FABRICAST_CHECK(kinds.size() == paces.size() && std::is_sorted(kinds.begin(), kinds.end()),
                    "kinds in flight are sorted, with a pace for each");
    for (const std::uint32_t kind : kinds) collective(kind);
    // Only kinds with a common link can slow each other down. Such sets are small and recur, so their paces are cached.
    std::vector<bool> done(kinds.size(), false);
    std::vector<std::size_t> members;
    Flight flight;
    for (std::size_t first = 0; first < kinds.size(); ++first) {
      if (done[first]) continue;
      members.assign(1, first);
      done[first] = true;
      // `members` grows during the loop: kinds that share a link with a member, directly or through others.
      for (std::size_t m = 0; m < members.size(); ++m)
        for (std::size_t i = first + 1; i < kinds.size(); ++i)
          if (!done[i] && meetings_.meet(kinds[members[m]], kinds[i])) {
            done[i] = true;
            members.push_back(i);
          }
      if (members.size() == 1) {
        paces[first] = 1;
        continue;
      }
      std::sort(members.begin(), members.end());
      flight.clear();
      for (const std::size_t m : members) flight.push_back(kinds[m]);
      // Sorted, because a set of kinds is looked up by its list.
      const std::vector<double>& found = meetings_.paces(flight);
      for (std::size_t m = 0; m < members.size(); ++m) paces[members[m]] = found[m];
    }
  }

 private:
  const Collective& collective(std::uint32_t kind) {
    if (!collectives_.at(kind) && threads_ > 1) time_all();
    time(kind);
    return *collectives_[kind];
  }

  /// Times all kinds, because a step needs all of them. One thread times the kinds of a set of groups, which share
  /// data.
  void time_all() {
    const auto by_groups = kinds_by_groups(program_);
    // Only once: afterwards all kinds are timed.
    in_parallel(by_groups.size(), std::exchange(threads_, 1), [&](std::size_t groups) {
      for (const std::uint32_t kind : by_groups[groups]) time(kind);
    });
  }

  /// Evaluates (1) for all kinds. The time of a kind already includes the slowdown by other jobs.
  void find_independent() {
    for (std::uint32_t k = 0; k < program_.collectives.size(); ++k) collective(k);
    std::vector<double> all(timer_.resources(), 0), most(timer_.resources(), 0);
    std::vector<std::uint32_t> sets(timer_.resources(), 0);  // number of sets of groups that use a resource
    if (const Background* others = timer_.others())
      for (const Background::Use& u : others->uses) all[u.resource] += u.use * others->rate[u.item].value;
    for (const std::vector<std::uint32_t>& kinds : kinds_by_groups(program_)) {
      for (const std::uint32_t k : kinds)
        collectives_[k]->for_each_load(
            [&](const Collective::Load& load) { most[load.resource] = std::max(most[load.resource], load.part); });
      // Reset while it is added, so that `most` is 0 again for the next set without a pass over all links.
      for (const std::uint32_t k : kinds)
        collectives_[k]->for_each_load([&](const Collective::Load& load) {
          if (const double part = std::exchange(most[load.resource], 0.0); part > 0) {
            all[load.resource] += part;
            ++sets[load.resource];
          }
        });
    }
    for (const std::unique_ptr<Collective>& x : collectives_) {
      bool independent = true;
      x->for_each_load([&](const Collective::Load& load) {
        independent &= all[load.resource] <= 1 + 1e-9 || sets[load.resource] == 1;
      });
      independent_.push_back(independent);
    }
  }

  const Program& program_;
  std::size_t threads_;
  CollectiveTimer timer_;
  std::vector<std::unique_ptr<Collective>> collectives_;
  Meetings meetings_;
  std::vector<bool> independent_;
};

}  // namespace

std::unique_ptr<Traffic> make_flow_traffic(const World& world, const Program& program, std::uint64_t seed,
                                           std::size_t threads) {
  return std::make_unique<FlowTraffic>(world, program, seed, threads);
}

std::vector<std::unique_ptr<Traffic>> make_flow_traffics(std::span<const World> worlds, const Program& program,
                                                         std::uint64_t seed, std::size_t threads) {
  const auto counts = std::make_shared<CollectiveCounts>(seed);
  std::vector<std::unique_ptr<FlowTraffic>> all;
  for (const World& world : worlds) {
    // Worlds whose ranks connect differently make their own counts.
    const bool alike = connects_alike(world.setup(), worlds.front().setup());
    all.push_back(std::make_unique<FlowTraffic>(world, program, seed, 1, alike ? counts : nullptr));
  }
  const auto by_groups = kinds_by_groups(program);
  in_parallel(by_groups.size(), threads, [&](std::size_t groups) {
    // All worlds time a kind before the next kind, so counts are held for one set of groups at a time.
    for (const std::uint32_t kind : by_groups[groups])
      for (const auto& traffic : all) traffic->time(kind);
    counts->forget(static_cast<std::uint32_t>(groups));
  });
  return {std::make_move_iterator(all.begin()), std::make_move_iterator(all.end())};
}

}  // namespace fabricast
