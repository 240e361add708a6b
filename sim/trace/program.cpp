// Activities in an order in which they can be queued. Items are the nodes of each actor, and collectives, which several
// actors can share. Items without time are passed through. An item is ready when all items that it needs have ended.
// Streams take the item that is ready first, as a scheduler of kernels does. The times of a trace, recorded or
// estimated, therefore determine the order on each stream, not when an activity runs.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "calls.hpp"
#include "fabricast/core/stop.hpp"
#include "lanes.hpp"

namespace fabricast::trace {

namespace {

/// An item without time that joins more activities than this becomes an activity of 0 s. Passing it through would copy
/// its list of dependencies to all its followers.
constexpr std::size_t most_passed = 16;

class Builder {
 public:
  Builder(const Job& job, const Calls& calls, const Folded& folded, const TraceSpec& spec,
          const KernelTime& kernel_time, Faults& faults)
      : job_(job), calls_(calls), folded_(folded), spec_(spec), kernel_time_(kernel_time), faults_(faults) {}

  Program run() {
    number_items();
    time_nodes();
    faults_.throw_if_any();
    add_actors();
    for (std::uint32_t c = 0; c < folded_.classes; ++c) add_collective(c);
    link_items();
    queue_items();
    return std::move(program_);
  }

 private:
  struct Item {
    double seconds = 0;          ///< of computation; of a collective, an estimate that determines only the order
    double ready = 0;            ///< earliest start in s, by recorded and estimated times
    std::uint32_t waits = 0;     ///< number of items that it still waits for
    std::uint32_t actor = none;  ///< none: a collective
    std::uint32_t node = none;   ///< of the actor's trace; of a collective, its class
    bool operator==(const Item&) const = default;
  };

  const RankTrace& trace(std::uint32_t actor) const { return job_.of(folded_.rank_of[actor]); }

  /// Items are the nodes of all actors, then the classes of calls. A node that belongs to a call is represented by the
  /// item of its class; the node's own number stays unused.
  void number_items() {
    const auto actors = static_cast<std::uint32_t>(folded_.rank_of.size());
    std::uint64_t n = 0;
    base_.push_back(0);
    for (std::uint32_t a = 0; a < actors; ++a) {
      n += trace(a).nodes.size();
      if (n + folded_.classes >= none) throw UserError("the trace has more than 4e9 nodes", "write fold: true");
      base_.push_back(static_cast<std::uint32_t>(n));
    }
    items_.resize(n + folded_.classes);
    members_.resize(folded_.classes);
    groups_of_.resize(folded_.classes);
    for (std::uint32_t a = 0; a < actors; ++a)
      for (std::uint32_t i = 0; i < trace(a).nodes.size(); ++i) {
        items_[base_[a] + i].actor = a;
        items_[base_[a] + i].node = i;
      }
    for (std::uint32_t c = 0; c < folded_.classes; ++c) items_[base_.back() + c].node = c;
    for (std::uint32_t a = 0; a < actors; ++a) {
      const std::vector<std::uint32_t>& of = calls_.of[folded_.rank_of[a]];
      for (std::uint32_t k = 0; k < of.size(); ++k)
        if (of[k] != none) members_[folded_.class_of[of[k]]].push_back({a, k});
    }
    for (std::uint32_t i = 0; i < calls_.calls.size(); ++i) groups_of_[folded_.class_of[i]].push_back(i);
  }

  std::uint32_t item_of(std::uint32_t actor, std::uint32_t node) const {
    const std::uint32_t comm = trace(actor).nodes[node].comm;
    const std::uint32_t call = comm == none ? none : calls_.of[folded_.rank_of[actor]][comm];
    return call == none ? base_[actor] + node : base_.back() + folded_.class_of[call];
  }

  /// Sets the seconds of items, and the earliest time at which each is ready: its recorded start, relative to the first
  /// of its rank.
  void time_nodes() {
    std::vector<double> least(folded_.classes, std::numeric_limits<double>::infinity());
    for (std::uint32_t a = 0; a < folded_.rank_of.size(); ++a) {
      const RankTrace& t = trace(a);
      double first = std::numeric_limits<double>::infinity();
      for (const TraceNode& node : t.nodes)
        if (node.is_recorded) first = std::min(first, node.start);
      for (std::uint32_t i = 0; i < t.nodes.size(); ++i) {
        const TraceNode& node = t.nodes[i];
        const std::uint32_t at = item_of(a, i);
        if (node.is_recorded) items_[at].ready = std::max(items_[at].ready, node.start - first);
        // The last rank to join a collective waits least, so its recorded time is closest to that of the collective
        // alone.
        if (at >= base_.back())
          least[at - base_.back()] = std::min(least[at - base_.back()], node.seconds);
        else if (node.comm == none)
          items_[at].seconds = seconds_of(t, i);
      }
    }
    for (std::uint32_t c = 0; c < folded_.classes; ++c) items_[base_.back() + c].seconds = least[c];
  }

  double seconds_of(const RankTrace& t, std::uint32_t i) {
    const TraceNode& node = t.nodes[i];
    if (node.kind == NodeKind::mark) return 0;
    if (node.seconds > 0) return node.seconds / (node.cpu ? 1 : spec_.speedup);
    if (node.flops == 0 && node.bytes == 0) return 0;
    if (!kernel_time_) {
      faults_.node(t, i, "has num_ops or tensor_size but no duration", "an estimate needs a GPU with known rates");
      return 0;
    }
    return kernel_time_(node.flops, node.bytes).value;
  }

  void add_actors() {
    std::vector<std::uint32_t> ranks(folded_.rank_of.size(), 0);
    for (const std::uint32_t a : folded_.actor_of) ++ranks[a];
    for (std::uint32_t a = 0; a < ranks.size(); ++a) {
      lanes_.emplace_back(trace(a), calls_, folded_.rank_of[a]);
      const std::uint32_t r = folded_.rank_of[a];
      program_.actors.push_back(
          {ranks[a] == 1 ? fmt::format("rank {}", r) : fmt::format("rank {} and {} identical", r, ranks[a] - 1),
           lanes_.back().names(), static_cast<double>(ranks[a])});
    }
  }

  void add_collective(std::uint32_t c) {
    const Call& first = calls_.calls[groups_of_[c].front()];
    const bool is_message = first.op == CollectiveOp::sendrecv;
    std::vector<std::vector<std::uint32_t>> groups;
    for (const std::uint32_t call : groups_of_[c]) {
      const Call& one = calls_.calls[call];
      groups.push_back(is_message ? std::vector{one.members[0].rank, one.members[1].rank}
                                  : calls_.groups[one.group].ranks);
    }
    std::sort(groups.begin(), groups.end());
    CollectiveKind kind;
    kind.op = first.op;
    kind.part = first.part;
    kind.bytes = first.bytes;
    kind.one_way = is_message;
    kind.name = is_message ? fmt::format("sendrecv {} -> {}", groups[0][0], groups[0][1])
                           : fmt::format("{} {}", name_of(first.op), stream_of_group(calls_.groups[first.group]));
    const auto [at, is_new] = group_index_.try_emplace(std::move(groups), program_.groups.size());
    if (is_new) program_.groups.push_back(at->first);
    kind.groups = static_cast<std::uint32_t>(at->second);
    const auto [known, is_new_kind] = kind_index_.try_emplace(std::tuple(kind.op, kind.part, kind.bytes, kind.groups),
                                                              static_cast<std::uint32_t>(program_.collectives.size()));
    if (is_new_kind) program_.collectives.push_back(std::move(kind));
    kind_of_.push_back(known->second);
  }

  template <class Use>
  void for_each_pair(Use use) const {
    for (std::uint32_t a = 0; a < folded_.rank_of.size(); ++a) {
      const RankTrace& t = trace(a);
      for (std::uint32_t i = 0; i < t.nodes.size(); ++i)
        for (std::uint32_t k = t.first_dependency[i]; k < t.first_dependency[i + 1]; ++k)
          use(item_of(a, t.dependencies[k]), item_of(a, i));
    }
  }

  /// Lists for each item the items that wait for it, and the items that it waits for.
  void link_items() {
    first_follower_.assign(items_.size() + 1, 0);
    first_need_.assign(items_.size() + 1, 0);
    for_each_pair([&](std::uint32_t before, std::uint32_t after) {
      ++first_follower_[before + 1];
      ++first_need_[after + 1];
      ++items_[after].waits;
    });
    std::partial_sum(first_follower_.begin(), first_follower_.end(), first_follower_.begin());
    std::partial_sum(first_need_.begin(), first_need_.end(), first_need_.begin());
    followers_.resize(first_follower_.back());
    needs_.resize(first_need_.back());
    std::vector<std::uint32_t> next(first_follower_.begin(), first_follower_.end() - 1);
    std::vector<std::uint32_t> next_need(first_need_.begin(), first_need_.end() - 1);
    for_each_pair([&](std::uint32_t before, std::uint32_t after) {
      followers_[next[before]++] = after;
      needs_[next_need[after]++] = before;
    });
  }

  void queue_items() {
    using Ready = std::pair<double, std::uint32_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    activity_of_.assign(items_.size(), none);
    std::size_t done = 0, unused = 0;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (is_stand_in(i))
        ++unused;
      else if (items_[i].waits == 0)
        ready.push({items_[i].ready, i});
    }
    std::vector<std::vector<double>> free(program_.actors.size());
    for (std::uint32_t a = 0; a < free.size(); ++a) free[a].assign(program_.actors[a].streams.size(), 0);
    while (!ready.empty()) {
      const std::uint32_t i = ready.top().second;
      ready.pop();
      if ((++done & 0xffff) == 0) stop_if_requested();
      const double end = add_activity(i, free);
      for (std::uint32_t k = first_follower_[i]; k < first_follower_[i + 1]; ++k) {
        Item& follower = items_[followers_[k]];
        follower.ready = std::max(follower.ready, end);
        if (--follower.waits == 0) ready.push({follower.ready, followers_[k]});
      }
    }
    if (done + unused < items_.size()) report_cycle();
  }

  /// Whether the item is a node that the item of its collective represents.
  bool is_stand_in(std::uint32_t i) const {
    return items_[i].actor != none && item_of(items_[i].actor, items_[i].node) != i;
  }

  /// \returns the estimated time at which it ends
  double add_activity(std::uint32_t i, std::vector<std::vector<double>>& free) {
    const Item& item = items_[i];
    needed_.clear();
    for (std::uint32_t k = first_need_[i]; k < first_need_[i + 1]; ++k) {
      const std::uint32_t need = needs_[k];
      if (activity_of_[need] != none)
        needed_.push_back(activity_of_[need]);
      else if (const auto passed = passed_.find(need); passed != passed_.end())
        needed_.insert(needed_.end(), passed->second.begin(), passed->second.end());
    }
    std::sort(needed_.begin(), needed_.end());
    needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
    const bool is_collective = item.actor == none;
    if (!is_collective && item.seconds == 0 && needed_.size() <= most_passed) {
      if (!needed_.empty()) passed_.emplace(i, needed_);
      return item.ready;
    }
    places_.clear();
    Activity activity;
    std::uint32_t label_actor = item.actor, label_node = item.node;
    if (is_collective) {
      for (const auto& [actor, comm] : members_[item.node])
        places_.push_back({actor, lanes_[actor].of(trace(actor).comms[comm].node)});
      std::sort(places_.begin(), places_.end(),
                [](Place a, Place b) { return std::tie(a.actor, a.stream) < std::tie(b.actor, b.stream); });
      places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
      activity.collective = kind_of_[item.node];
      activity.part = program_.collectives[activity.collective].part;
      const auto& [actor, comm] = members_[item.node].front();
      label_actor = actor;
      label_node = trace(actor).comms[comm].node;
    } else {
      places_.push_back({item.actor, lanes_[item.actor].of(item.node)});
      activity.time = Seconds{item.seconds};
      activity.part = part_of_node(trace(item.actor), item.node);
    }
    activity.label = label_of(trace(label_actor).labels[trace(label_actor).nodes[label_node].label]);
    activity_of_[i] = program_.add(activity, places_, needed_);
    double end = item.ready;
    for (const Place& p : places_) end = std::max(end, free[p.actor][p.stream]);
    end += item.seconds;
    for (const Place& p : places_) free[p.actor][p.stream] = end;
    return end;
  }

  std::uint32_t label_of(const std::string& text) {
    const auto [at, is_new] = labels_.try_emplace(text, static_cast<std::uint32_t>(program_.labels.size()));
    if (is_new) program_.labels.push_back(text);
    return at->second;
  }

  /// link_nodes() found no cycle within a file, so this one passes through collectives of several ranks.
  void report_cycle() {
    std::uint32_t at = 0;
    while (is_stand_in(at) || items_[at].waits == 0) ++at;
    const std::vector<std::uint32_t> cycle = walk_cycle(at, [&](std::uint32_t i) {
      std::uint32_t k = first_need_[i];
      while (items_[needs_[k]].waits == 0) ++k;
      return needs_[k];
    });
    std::vector<std::string> places;
    for (const std::uint32_t i : cycle)
      if (i >= base_.back()) places.push_back(place_of(members_[items_[i].node]));
    faults_.add(trace(0).file, "collectives wait for each other in a cycle: " + shown_cycle(places),
                "a send ends when it is received, other collectives when all ranks have joined");
    faults_.throw_if_any();
  }

  std::string place_of(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& members) const {
    constexpr std::size_t most_shown = 2;
    std::string text;
    for (std::size_t k = 0; k < std::min(members.size(), most_shown); ++k) {
      const auto& [actor, comm] = members[k];
      const RankTrace& t = trace(actor);
      text += fmt::format("{}node {} of rank {}", k > 0 ? " with " : "", t.nodes[t.comms[comm].node].id,
                          folded_.rank_of[actor]);
    }
    return text;
  }

  const Job& job_;
  const Calls& calls_;
  const Folded& folded_;
  const TraceSpec& spec_;
  const KernelTime& kernel_time_;
  Faults& faults_;
  Program program_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> base_;  ///< by actor, its first item; last: the first collective
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> members_;  ///< by class: actors and comms
  std::vector<std::vector<std::uint32_t>> groups_of_;                          ///< by class: calls
  std::vector<std::uint32_t> kind_of_;                                         ///< by class
  std::vector<Lanes> lanes_;
  std::vector<std::uint32_t> first_follower_, followers_, first_need_, needs_, activity_of_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      passed_;  ///< by item without time: activities that it waits for
  std::vector<std::uint32_t> needed_;
  std::vector<Place> places_;
  std::map<std::string, std::uint32_t> labels_;
  std::map<RankGroups, std::size_t> group_index_;
  std::map<std::tuple<CollectiveOp, Part, std::int64_t, std::uint32_t>, std::uint32_t> kind_index_;
};

}  // namespace

Program build_program(const Job& job, const Calls& calls, const Folded& folded, const TraceSpec& spec,
                      const KernelTime& kernel_time, Faults& faults) {
  return Builder(job, calls, folded, spec, kernel_time, faults).run();
}

}  // namespace fabricast::trace
