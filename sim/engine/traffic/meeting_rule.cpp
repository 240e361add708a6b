// Shares by port of a job's channels (engine/port_shares.hpp). With x the shares of its connections next to others and
// y those next to nobody, both in bytes on the wire,
//
//   r' = r  x  min over connections f of c of  x_f / y_f                                                            (1)
//
// r is the rate of channel c alone if it has one connection, else its fair share: the connections of a channel advance
// together, and all at most at that rate. What the connections of the job do to each other is in x and in y, and in the
// time of the job alone, so it does not count twice.
#include "meeting_rule.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/engine/max_min.hpp"
#include "fabricast/engine/port_shares.hpp"

namespace fabricast {

namespace {

/// Each round goes through all crossings: above this number a call would take minutes. Fair shares then stay.
constexpr std::size_t most_crossings = 200'000;

/// Connections by item, at most at these rates.
class FlowPaths {
 public:
  explicit FlowPaths(const MeetingRule& rule) { problem_.capacity = rule.by_port, problem_.first.push_back(0); }

  /// \returns the number of the first of the connections
  std::size_t add(std::span<const Background::FlowPath> paths, const std::vector<double>& most) {
    const std::size_t first = problem_.cap.size();
    for (const Background::FlowPath& path : paths) {
      problem_.link.insert(problem_.link.end(), path.resources.begin(), path.resources.end());
      problem_.first.push_back(static_cast<std::uint32_t>(problem_.link.size()));
      problem_.cap.push_back(path.part * most[path.item]);
    }
    return first;
  }
  bool too_many() const { return problem_.link.size() > most_crossings; }
  PortShares share() const { return share_by_port(problem_); }

 private:
  PortProblem problem_;
};

std::vector<std::uint32_t> connections_of_items(std::span<const Background::FlowPath> paths, std::size_t items) {
  std::vector<std::uint32_t> count(items, 0);
  for (const Background::FlowPath& path : paths) ++count[path.item];
  return count;
}

/// By item: its rate alone if it has one connection, else its fair share.
std::vector<double> most_of_items(std::span<const Background::FlowPath> paths, const std::vector<BytesPerSecond>& alone,
                                  const std::vector<BytesPerSecond>& fair) {
  const std::vector<std::uint32_t> count = connections_of_items(paths, alone.size());
  std::vector<double> most;
  for (std::size_t i = 0; i < alone.size(); ++i) most.push_back(count[i] == 1 ? alone[i].value : fair[i].value);
  return most;
}

std::vector<double> values_of(const std::vector<BytesPerSecond>& rates) {
  std::vector<double> values;
  for (const BytesPerSecond rate : rates) values.push_back(rate.value);
  return values;
}

/// The resource of a path that most paths of others have, the first of several.
std::uint32_t met_at(const Background::FlowPath& path, const Background& others) {
  std::vector<std::size_t> met(path.resources.size(), 0);
  for (const Background::FlowPath& other : others.paths)
    for (std::size_t k = 0; k < met.size(); ++k)
      met[k] += static_cast<std::size_t>(std::count(other.resources.begin(), other.resources.end(), path.resources[k]));
  return path.resources[static_cast<std::size_t>(std::max_element(met.begin(), met.end()) - met.begin())];
}

}  // namespace

MeetingRule meeting_rule(const World& world, const Router& router) {
  MeetingRule rule;
  rule.fabric = world.fabric();
  rule.contended = world.setup().segments.front().contended;
  if (world.scenario().fabric.congestion.control != CongestionControl::none || is_spread(world.setup().paths()))
    return rule;
  for (std::uint32_t l = 0; l < rule.fabric->links(); ++l)
    rule.by_port.push_back(resource_rate(world.setup(), router, l).value);
  return rule;
}

void mark_contended(Background& all, const MeetingRule& rule) {
  if (rule.contended >= 1) return;
  for (std::size_t first = 0, last = 0; first < all.uses.size(); first = last) {
    bool several = false;
    for (; last < all.uses.size() && all.uses[last].resource == all.uses[first].resource; ++last)
      several |= all.owner[all.uses[last].item] != all.owner[all.uses[first].item];
    for (std::size_t i = first; several && i < last; ++i) {
      Background::Use& use = all.uses[i];
      use.use = use_where_contended(rule, use);
      use.contended |= between_switches(*rule.fabric, use.resource);
    }
  }
}

void hold_back(const Background& others, std::span<const Background::FlowPath> paths,
               const std::vector<BytesPerSecond>& alone, const MeetingRule& rule, SharedRates& shared) {
  if (paths.empty() || others.paths.empty()) return;
  const std::vector<double> most = most_of_items(paths, alone, shared.rate);
  FlowPaths own(rule);
  own.add(paths, most);
  FlowPaths all = own;
  all.add(others.paths, values_of(others.rate));
  if (all.too_many()) return;
  const PortShares x = all.share(), y = own.share();
  if (!x.settled || !y.settled) return;
  std::vector<double> least(alone.size(), 1);
  std::vector<std::size_t> slowest(alone.size(), paths.size());
  for (std::size_t f = 0; f < paths.size(); ++f) {
    const double part = y.rate[f] > 0 ? x.rate[f] / y.rate[f] : 1;
    if (part >= least[paths[f].item]) continue;
    least[paths[f].item] = part;
    slowest[paths[f].item] = f;
  }
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const BytesPerSecond rate{most[i] * least[i]};
    // A channel with one connection may get more than its fair share, but never more than alone.
    if (slowest[i] == paths.size() || std::abs(rate / shared.rate[i] - 1) < 1e-3) continue;
    shared.rate[i] = rate;
    if (shared.link[i] == no_link) shared.link[i] = met_at(paths[slowest[i]], others);
  }
}

void hold_back_each_other(const std::vector<BytesPerSecond>& alone, const MeetingRule& rule, Background& all) {
  if (all.paths.empty()) return;
  const std::vector<double> most = most_of_items(all.paths, alone, all.rate);
  FlowPaths paths(rule);
  paths.add(all.paths, most);
  if (paths.too_many()) return;
  const PortShares x = paths.share();
  if (!x.settled) return;
  std::vector<double> rate = most;
  for (std::size_t f = 0; f < all.paths.size(); ++f) {
    double& of_item = rate[all.paths[f].item];
    of_item = std::min(of_item, x.rate[f] / all.paths[f].part);
  }
  for (std::size_t i = 0; i < rate.size(); ++i) all.rate[i] = BytesPerSecond{rate[i]};
}

}  // namespace fabricast
