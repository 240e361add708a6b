// Shares by port of a job's channels (engine/port_shares.hpp). With x the shares of its connections next to others and
// y those next to nobody, both in bytes on the wire,
//
//   r' = r  x  min over connections f of c of  x_f / y_f                                                            (1)
//
// r is the rate of channel c alone if it has one connection, else its fair share: the connections of a channel advance
// together, and all at most at that rate. What the connections of the job do to each other is in x and in y, and in the
// time of the job alone, so it does not count twice.
//
// A pause stops one traffic class. Shares by port are therefore those of the connections of one class, on links of which
// the class has what it could take next to the others at their fair shares (offers_to_classes).
#include "meeting_rule.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "fabricast/engine/class_shares.hpp"
#include "fabricast/engine/max_min.hpp"
#include "fabricast/engine/port_shares.hpp"
#include "fabricast/scenario/lossy.hpp"
#include "fabricast/scenario/traffic_classes.hpp"
#include "item_classes.hpp"

namespace fabricast {

namespace {

/// Each round goes through all crossings: above this number a call would take minutes. Fair shares then stay.
constexpr std::size_t most_crossings = 200'000;

/// Connections by item, at most at these rates.
class FlowPaths {
 public:
  /// \param capacity  by link
  explicit FlowPaths(std::vector<double> capacity) {
    problem_.capacity = std::move(capacity);
    problem_.first.push_back(0);
  }

  /// \param wanted  by item: whether it takes part
  template <class Wanted>
  void add(std::span<const Background::FlowPath> paths, const std::vector<double>& most, Wanted wanted) {
    for (const Background::FlowPath& path : paths) {
      if (!wanted(path.item)) continue;
      problem_.link.insert(problem_.link.end(), path.resources.begin(), path.resources.end());
      problem_.first.push_back(static_cast<std::uint32_t>(problem_.link.size()));
      problem_.cap.push_back(path.part * most[path.item]);
    }
  }
  bool too_many() const { return problem_.link.size() > most_crossings; }
  PortShares share() const { return share_by_port(problem_); }

 private:
  PortProblem problem_;
};

constexpr auto all_items = [](std::uint32_t) { return true; };

/// What ports leave a traffic class of each link, next to the items of the others at their rates.
std::vector<double> left_for_class(const MeetingRule& rule, std::uint32_t of, const Background& others) {
  std::vector<double> left = rule.by_port;
  if (rule.classes.empty()) return left;
  struct Port {
    std::vector<double> wanted;  ///< by class
    WeighedClasses weigh;
  };
  std::map<std::uint32_t, Port> ports;  // where others are: links may be millions
  for (const Background::FlowPath& path : others.paths) {
    const ItemClasses::Item item = ItemClasses::of(others, path.item);
    if (item.in == of) continue;
    for (const std::uint32_t l : path.resources) {
      Port& port = ports.try_emplace(l, Port{std::vector<double>(rule.classes.size(), 0), WeighedClasses(rule.classes)})
                       .first->second;
      port.wanted[item.in] += path.part * others.rate[path.item].value;
      port.weigh.add(item);
    }
  }
  std::vector<bool> strict;
  for (const ClassWeight& c : rule.classes) strict.push_back(c.strict);
  for (auto& [l, port] : ports) {
    port.wanted[of] = left[l];
    port.weigh.add({~0U, of, 1});
    left[l] = offers_to_classes(left[l], port.wanted, port.weigh.weights(), strict)[of];
  }
  return left;
}

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

/// Where senders react, the queue that their control aims at. Where only pauses stop them, ports share the memory by a
/// dynamic threshold, as in engine/loss.hpp.
StandingQueue standing_queue(const World& world) {
  const Scenario& s = world.scenario();
  const CongestionSpec& spec = s.fabric.congestion;
  if (spec.queue.value > 0 || spec.control == CongestionControl::ideal) return {spec.queue, {}, {}};
  if (spec.control == CongestionControl::reactive) return {world.planner().comm.node.network.queue.us(), {}, {}};
  const BytesPerSecond port = topologies()[s.fabric.kind].basics(s.fabric.spec).switch_box.rate;
  const Bytes buffer = spec.buffer.value > 0 ? spec.buffer : usual_buffer(port);
  return {{}, buffer, slots_of(world.planner().settings)};
}

}  // namespace

MeetingRule meeting_rule(const World& world, const Router& router) {
  MeetingRule rule;
  rule.fabric = world.fabric();
  rule.contended = world.setup().segments.front().contended;
  for (const TrafficClass& c : world.scenario().fabric.congestion.classes)
    rule.classes.push_back({c.weight.value, c.strict});
  rule.own = class_of_main(world);
  rule.queue = standing_queue(world);
  if (world.scenario().fabric.congestion.control != CongestionControl::none || is_spread(world.setup().paths()))
    return rule;
  for (std::uint32_t l = 0; l < rule.fabric->links(); ++l)
    rule.by_port.push_back(resource_rate(world.setup(), router, l).value);
  return rule;
}

void mark_contended(Background& all, const MeetingRule& rule, const std::vector<std::uint32_t>& source) {
  if (rule.contended >= 1) return;
  for (std::size_t first = 0, last = 0; first < all.uses.size(); first = last) {
    bool several = false;
    for (; last < all.uses.size() && all.uses[last].resource == all.uses[first].resource; ++last)
      several |= source[all.uses[last].item] != source[all.uses[first].item];
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
  FlowPaths own(rule.by_port), all(left_for_class(rule, rule.own, others));
  own.add(paths, most, all_items);
  all.add(paths, most, all_items);
  all.add(others.paths, values_of(others.rate),
          [&](std::uint32_t item) { return others.traffic_class[item] == rule.own; });
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

namespace {

/// Lowers the rates of the items of a class. \param most  by item: what its connections get at most
void hold_back_class(std::uint32_t of, const std::vector<double>& most, const MeetingRule& rule, const Background& all,
                     std::vector<BytesPerSecond>& rates) {
  const auto in_class = [&](std::uint32_t item) { return all.traffic_class[item] == of; };
  FlowPaths paths(left_for_class(rule, of, all));
  paths.add(all.paths, most, in_class);
  if (paths.too_many()) return;
  const PortShares x = paths.share();
  if (!x.settled) return;
  std::vector<double> rate = most;
  std::size_t f = 0;
  for (const Background::FlowPath& path : all.paths)
    if (in_class(path.item)) rate[path.item] = std::min(rate[path.item], x.rate[f++] / path.part);
  for (std::uint32_t i = 0; i < rate.size(); ++i)
    if (in_class(i)) rates[i] = BytesPerSecond{rate[i]};
}

}  // namespace

void hold_back_each_other(const std::vector<BytesPerSecond>& alone, const MeetingRule& rule, Background& all) {
  if (all.paths.empty()) return;
  const std::vector<double> most = most_of_items(all.paths, alone, all.rate);
  // Each class next to the fair shares of the others, so their order does not matter.
  std::vector<BytesPerSecond> rates = all.rate;
  for (std::uint32_t k = 0; k < std::max<std::size_t>(1, rule.classes.size()); ++k)
    hold_back_class(k, most, rule, all, rates);
  all.rate = std::move(rates);
}

}  // namespace fabricast
