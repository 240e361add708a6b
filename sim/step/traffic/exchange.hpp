// An exchange kind on the network: all its teams at once, and of its job nothing else. Where other jobs are beside it
// (World::beside), each channel then gets what these leave it, and `alone` in other places means without its own job.
//
// One team of each shape is timed by the flow engine, alone. Then the channels of all teams share the links:
//
//   r(t, c)  max-min over the channels of all teams, on the fabric and inside the nodes
//   T(t)     = T_engine(shape of t) + max_c T_c( r(t, c) ) - max_c T_c( rate of c in the engine )
//   T        = max_t T(t)
//
// T_c changes with the rate as the engine has it: by the pace of its slices (engine/group_time.hpp). Resources are
// numbered: those of the router first, then the links of all nodes, node by node.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "communicators.hpp"
#include "fabricast/engine/group_time.hpp"
#include "fabricast/fluid/sharing.hpp"
#include "fabricast/step/traffic.hpp"
#include "sharing.hpp"

namespace fabricast {

/// A link is crowded from this load on.
inline constexpr double full = 1 + 1e-9;

/// A team's call as the engine times it.
struct TimedShape {
  Plan plan;
  GroupTime time;
  std::uint32_t place = 0;  ///< on the fabric, of the first host that it was timed on
  /// By the team's node: which of `inside` it takes.
  std::vector<std::uint32_t> role;
  std::vector<std::vector<InsideUse>> inside;  ///< by role, then by link, rising
};

struct Exchange {
  static constexpr std::uint32_t none = 0xffffffff;
  /// How much of a resource it takes at its rates: 1 is all. Its entries in `fabric`, if it is of the router.
  struct Load {
    std::uint32_t resource = 0, first = 0, last = 0;
    /// A resource of which all that use this one take at least as much: that one is full before.
    std::uint32_t behind = none;
    double part = 0;
  };

  const TeamSet* teams = nullptr;
  std::vector<std::shared_ptr<const TimedShape>> timed;  ///< by team
  std::vector<std::uint32_t> first_item;                 ///< by team: its channels; one entry more
  std::vector<std::uint32_t> team_of;                    ///< by item
  std::vector<double> rate;                              ///< B/s by item
  std::shared_ptr<const std::vector<LinkUse>> fabric;    ///< by resource, then by item
  std::vector<std::uint64_t> signature;                  ///< by place in teams->nodes: alike in teams and roles
  std::vector<Load> loads;                               ///< by resource, rising
  ExchangeTime time;

  /// When the team of an item is done if the item goes at another rate, s.
  double at(std::uint32_t item, double other) const;
  double weight(std::uint32_t item) const { return timed[team_of[item]]->time.weight; }
  /// What members of a node take of a link inside it; `use(item, part per B/s)`.
  template <class Use>
  void for_each_inside(std::size_t node, std::uint16_t link, Use use) const;
  const std::vector<InsideUse>& inside_of(const TeamMember& member) const {
    const TimedShape& shape = *timed[member.team];
    return shape.inside[shape.role[member.index]];
  }
};

template <class Use>
void Exchange::for_each_inside(std::size_t node, std::uint16_t link, Use use) const {
  for (std::uint32_t m = teams->first[node]; m < teams->first[node + 1]; ++m) {
    const TeamMember& member = teams->members[m];
    const std::vector<InsideUse>& inside = inside_of(member);
    const auto it =
        std::lower_bound(inside.begin(), inside.end(), link, [](const InsideUse& u, int l) { return u.link < l; });
    if (it == inside.end() || it->link != link) continue;
    for (std::uint32_t c = 0; c < it->use.size(); ++c)
      if (it->use[c] > 0) use(first_item[member.team] + c, it->use[c]);
  }
}

/// Times exchanges of one program on one draw of the network. Threads may share it if each times those of other groups.
class ExchangeTimer {
 public:
  ExchangeTimer(const World& world, const Program& program, std::uint64_t seed);
  std::unique_ptr<Exchange> time(const ExchangeKind& kind);

  /// Traffic of other jobs, or null.
  const Background* others() const { return others_; }
  std::uint32_t resources() const { return first_inside_ + nodes_ * node_links_; }
  /// Of the router's resources there are so many; the others are links of nodes.
  std::uint32_t first_inside() const { return first_inside_; }
  std::uint32_t node_of(std::uint32_t resource) const { return (resource - first_inside_) / node_links_; }
  std::uint16_t link_of(std::uint32_t resource) const {
    return static_cast<std::uint16_t>((resource - first_inside_) % node_links_);
  }

 private:
  const TeamSet& teams_of_groups(const ExchangeKind& kind);
  std::unique_ptr<Communicators> take_communicators();
  void give_back(std::unique_ptr<Communicators> taken);
  struct TimedTeam {
    std::shared_ptr<const TimedShape> shape;
    std::shared_ptr<const SharedCount> crossed;  ///< by this team's connections, if they have been counted
  };
  using Crossed = std::vector<std::shared_ptr<const SharedCount>>;  ///< by team
  TimedTeam time_team(Communicators& communicators, const ExchangeKind& kind, const TeamSet& set, std::uint32_t team);
  std::uint32_t number_of(const ExchangeKind& kind, std::uint32_t shape) const;
  /// Of teams that span nodes. Exchanges of the same groups by the same algorithm use the same links.
  using FabricUses = std::shared_ptr<const std::vector<LinkUse>>;
  FabricUses fabric_of(Communicators& communicators, const ExchangeKind& kind, const Exchange& x,
                       const Crossed& crossed);
  FabricUses count_fabric(Communicators& communicators, const ExchangeKind& kind, const Exchange& x,
                          const Crossed& crossed);
  void sign_nodes(Exchange& x) const;
  LinkShares share(const Exchange& x) const;
  void share_with_others(Exchange& x) const;
  void add_loads(Exchange& x) const;
  void find_behind(Exchange& x) const;
  /// \param own    loads of the node with place n: of its ports, then inside
  /// \param ports  so many are of ports
  /// \returns by load the one of them that it is behind, or none
  std::vector<std::uint32_t> behind_in_node(const Exchange& x, std::size_t n, const std::vector<Exchange::Load*>& own,
                                            std::size_t ports) const;
  std::string bottleneck_of(const Exchange& x, std::uint32_t team) const;
  std::string name_of_resource(std::uint32_t resource) const;
  std::uint32_t resource(std::uint32_t node, std::uint16_t link) const {
    return first_inside_ + node * node_links_ + link;
  }

  const World& world_;
  const Program& program_;
  std::uint64_t seed_;
  std::mutex mutex_;  ///< of what the groups share
  std::vector<std::unique_ptr<Communicators>> communicators_;  ///< that no thread has taken
  std::unique_ptr<Router> router_;
  const Background* others_ = nullptr;
  std::uint32_t first_inside_ = 0, nodes_ = 0, node_links_ = 0;
  std::vector<std::vector<std::uint32_t>> ports_;  ///< by NCCL node: links of its NIC ports
  std::vector<std::unique_ptr<TeamSet>> teams_;    ///< by Program::groups
  /// By groups, operation if its connections hang on it, and what runs on each shape.
  using FabricKey = std::tuple<std::uint32_t, int, std::vector<std::array<int, 3>>>;
  std::map<FabricKey, FabricUses> fabrics_;
  /// Of teams inside one node without fault, which are alike wherever they are.
  std::map<std::tuple<TeamShape, CollectiveOp, std::int64_t, bool>, std::shared_ptr<const TimedShape>> inside_;
};

}  // namespace fabricast
