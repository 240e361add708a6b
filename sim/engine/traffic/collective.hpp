// A collective kind on the network: all its teams at once, without the other collectives of its job. If there is
// traffic of other jobs (World::beside), each channel gets what this traffic leaves, and "alone" elsewhere means alone
// in its own job.
//
// The flow engine times one team of each shape alone. Then the channels of all teams share the links:
//
//   r(t, c)  max-min over the channels of all teams, on the fabric and inside the nodes
//   T(t)     = T_engine(shape of t) + max_c T_c( r(t, c) ) - max_c T_c( rate of c in the engine )
//   T        = max_t T(t)                                                                                           (1)
//
// T_c as a function of the rate follows from the pace of the channel's slices (engine/group_time.hpp). Resources are
// numbered: first those of the router, then the links of all nodes, node by node. An *item* is a channel of a team.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "collective_counts.hpp"
#include "communicators.hpp"
#include "fabricast/engine/group_time.hpp"
#include "fabricast/engine/max_min.hpp"
#include "fabricast/traffic/beside.hpp"
#include "fabricast/traffic/traffic.hpp"
#include "sharing.hpp"

namespace fabricast {

/// A link is contended above this load; the tolerance covers rounding.
inline constexpr double full = 1 + 1e-9;

/// The call of a team, timed alone by the engine.
struct TimedShape {
  Plan plan;
  GroupTime time;
  std::uint32_t place = 0;                     ///< on the fabric: the first host of the team that was timed
  std::vector<std::uint32_t> role;             ///< by node of the team: index into `inside`
  std::vector<std::vector<InsideUse>> inside;  ///< by role, then by link, ascending
};

/// A collective kind, timed.
struct Collective {
  static constexpr std::uint32_t none = 0xffffffff;
  /// The load on a resource.
  struct Load {
    std::uint32_t resource = 0;
    /// A resource that is always full before this one, because all users of this one take at least as much of it.
    std::uint32_t behind = none;
    double part = 0;  ///< fraction of the resource's rate that the collective takes at its rates
  };

  const TeamSet* teams = nullptr;
  std::vector<std::shared_ptr<const TimedShape>> timed;  ///< by team
  std::vector<std::uint32_t> first_item;                 ///< by team: its first channel; one entry more
  std::vector<std::uint32_t> team_of;                    ///< by item
  std::vector<BytesPerSecond> rate;                      ///< by item
  std::shared_ptr<const LinkUses> fabric;                ///< use of the router's resources
  std::vector<std::uint64_t> signature;                  ///< by place in teams->nodes: equal for equal teams and roles
  std::vector<double> part;                              ///< Load::part by kind of `fabric`
  std::vector<std::uint32_t> behind;                     ///< Load::behind by place in `fabric`; none beyond its end
  std::vector<Load> inside;                              ///< links of nodes, ascending
  CollectiveTime time;

  /// The makespan of an item's team if the item runs at another rate.
  Seconds at(std::uint32_t item, BytesPerSecond other) const;
  double weight(std::uint32_t item) const { return timed[team_of[item]]->time.weight; }
  /// Calls use(load) for all loads, in ascending order of resources.
  template <class Use>
  void for_each_load(Use use) const;
  /// Calls use(item, fraction per B/s) for all items on a link inside a node. \param node  place in teams->nodes
  template <class Use>
  void for_each_inside(std::size_t node, std::uint16_t link, Use use) const;
  const std::vector<InsideUse>& inside_of(const TeamMember& member) const {
    const TimedShape& shape = *timed[member.team];
    return shape.inside[shape.role[member.index]];
  }
};

template <class Use>
void Collective::for_each_load(Use use) const {
  const std::span<const LinkUses::Link> links = fabric->links();
  for (std::size_t i = 0; i < links.size(); ++i)
    use(Load{links[i].link, i < behind.size() ? behind[i] : none, part[links[i].kind]});
  std::for_each(inside.begin(), inside.end(), use);
}

template <class Use>
void Collective::for_each_inside(std::size_t node, std::uint16_t link, Use use) const {
  for (std::uint32_t m = teams->first[node]; m < teams->first[node + 1]; ++m) {
    const TeamMember& member = teams->members[m];
    const std::vector<InsideUse>& links = inside_of(member);
    const auto it =
        std::lower_bound(links.begin(), links.end(), link, [](const InsideUse& u, int l) { return u.link < l; });
    if (it == links.end() || it->link != link) continue;
    for (std::uint32_t c = 0; c < it->use.size(); ++c)
      if (it->use[c] > 0) use(first_item[member.team] + c, it->use[c]);
  }
}

/// Times the collectives of a program on one sample of the network. Threads may share it if each times collectives of
/// different groups.
class CollectiveTimer {
 public:
  /// \param counts  shared by worlds that connect alike, for the same program and seed; null: not shared
  CollectiveTimer(const World& world, const Program& program, std::uint64_t seed,
                  std::shared_ptr<CollectiveCounts> counts = nullptr);
  std::unique_ptr<Collective> time(const CollectiveKind& kind);

  /// Adds the paths of the connections of a collective that it has timed, if links are shared by ports. Items are
  /// numbered from `first_item`.
  void add_paths_of(const CollectiveKind& kind, const Collective& x, std::uint32_t first_item,
                    std::vector<Background::FlowPath>& paths);
  /// How links are shared where traffic meets.
  const MeetingRule& rule() const { return rule_; }
  /// Traffic of other jobs, or null.
  const Background* others() const { return others_; }
  std::uint32_t resources() const { return first_inside_ + nodes_ * node_links_; }
  /// The number of the router's resources. Higher numbers are links of nodes.
  std::uint32_t first_inside() const { return first_inside_; }
  std::uint32_t node_of(std::uint32_t resource) const { return (resource - first_inside_) / node_links_; }
  std::uint16_t link_of(std::uint32_t resource) const {
    return static_cast<std::uint16_t>((resource - first_inside_) % node_links_);
  }

 private:
  const TeamSet& teams_of_groups(const CollectiveKind& kind);
  std::unique_ptr<Communicators> take_communicators();
  void give_back(std::unique_ptr<Communicators> taken);
  struct TimedTeam {
    std::shared_ptr<const TimedShape> shape;
    std::shared_ptr<const SharedCount> crossed;  ///< counts of this team's connections; null: not counted
  };
  using Crossed = std::vector<std::shared_ptr<const SharedCount>>;  ///< by team
  TimedTeam time_team(Communicators& communicators, const CollectiveKind& kind, const TeamSet& set, std::uint32_t team);
  std::uint32_t number_of(const CollectiveKind& kind, std::uint32_t shape) const;
  /// The use of links by teams that span nodes. Collectives of the same groups with the same algorithm share it.
  using SharedUses = std::shared_ptr<const LinkUses>;
  SharedUses fabric_of(Communicators& communicators, const CollectiveKind& kind, const Collective& x,
                       const Crossed& crossed);
  Crossings count_crossings(Communicators& communicators, const CollectiveKind& kind, const Collective& x,
                            const Crossed& crossed) const;
  /// The fractions of links that these crossings take.
  LinkUses uses_of(Communicators& communicators, const CollectiveKind& kind, const Collective& x,
                   const Crossings& crossings) const;
  void sign_nodes(Collective& x) const;
  LinkShares share(const Collective& x) const;
  void wait_in_queues(Communicators& communicators, const CollectiveKind& kind, Collective& x) const;
  void share_with_others(const CollectiveKind& kind, Collective& x);
  void add_loads(Collective& x) const;
  void find_behind(Collective& x) const;
  /// A resource of a node, and its kind in the collective's `fabric`; none: a link inside the node.
  struct OfNode {
    std::uint32_t resource, kind;
  };
  /// \param own  resources of the node with place n: its ports, then the links inside
  /// \returns for each of them the index of the one that it is behind, or none
  std::vector<std::uint32_t> behind_in_node(const Collective& x, std::size_t n, const std::vector<OfNode>& own) const;
  static void name_direct(const CollectiveKind::Direct& direct, BytesPerSecond rate, Collective& x);
  std::string bottleneck_of(const Collective& x, std::uint32_t team) const;
  std::string name_of_resource(std::uint32_t resource) const;
  std::uint32_t resource(std::uint32_t node, std::uint16_t link) const {
    return first_inside_ + node * node_links_ + link;
  }

  World world_;
  const Program& program_;
  std::uint64_t seed_;
  std::mutex mutex_;                                           ///< guards what the groups share
  std::vector<std::unique_ptr<Communicators>> communicators_;  ///< not in use by any thread
  std::unique_ptr<Router> router_;
  const Background* others_ = nullptr;
  MeetingRule rule_;
  std::uint32_t first_inside_ = 0, nodes_ = 0, node_links_ = 0;
  std::vector<std::vector<std::uint32_t>> ports_;  ///< by NCCL node: links of its NIC ports
  std::vector<std::unique_ptr<TeamSet>> teams_;    ///< by Program::groups
  std::map<CollectiveCounts::Key, SharedUses> fabrics_;
  std::shared_ptr<CollectiveCounts> counts_;  ///< null: not shared
  std::set<std::uint32_t> unlike_;            ///< groups whose counts differ from the shared ones
  /// Teams inside one node without faults, whose times do not depend on the node.
  std::map<std::tuple<TeamShape, CollectiveOp, std::int64_t, bool, int, Seconds>, std::shared_ptr<const TimedShape>>
      inside_;
};

}  // namespace fabricast
