// Valiant's routing with a choice by packet (detours.hpp).
//
// Let q be the part that takes detours and k the number of switches that suit. On each link, a flow has the share
//
//   (1 - q) minimal(from, to)  +  q / k x sum over these switches v of  minimal(from, v) + minimal(v, to)          (1)
//
// where minimal(a, b) are the shares if equal parts take each next hop (spray). So the paths are those of another
// router, from NIC port to NIC port, without the ports in between. Any port of v serves, so what is dead at NIC ports
// is hidden from that router.
//
// A path lists all detours up to `most_listed`. Of more it lists `listed_of_more`, evenly spaced in the order of switches,
// and gives each the weight of those that it stands for. Which ones depends on the two switches and on the port that
// sends: over many flows, links carry the same as with all detours. The latency is that of the longest detour, listed or
// not. Numbers of flows between switches are parted over all detours in any case, and so are the flows of collectives
// whose paths would list only some (ManyDetours).
//
// With `ugal`, q is that of a pair of switches (detours_by_load.cpp).
#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "detour_sums.hpp"
#include "fabricast/core/rng.hpp"
#include "path_table.hpp"

namespace fabricast {

namespace {

/// A path over all of 1,000 detours would list most links of the fabric.
constexpr std::uint32_t most_listed = 256, listed_of_more = 64;

class DetourSpreader final : public DetourRouter, public ManyDetours {
 public:
  DetourSpreader(const Fabric& fabric, const LinkState& state, DetourParts parts, bool by_load)
      : DetourRouter(fabric, state, std::move(parts), by_load), port_of_(fabric.switches(), 0) {
    for (const auto& [link, factor] : state.factors()) {
      const auto [from, to] = fabric.link(LinkId(link));
      if (std::min(from.value, to.value) >= fabric.endpoints()) between_switches_.set(LinkId(link), factor);
    }
    for (std::uint32_t e = 0; e < fabric.endpoints(); ++e)
      if (paths_.port(e).at != GraphPaths::none) port_of_[paths_.port(e).at] = e;
    minimal_ = make_spreading_router(fabric, between_switches_, true);
  }

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    if (flow.from == flow.to) return true;
    const GraphPaths::Port &from = paths_.port(flow.from), &to = paths_.port(flow.to);
    if (!paths_.usable(from.up) || !paths_.usable(to.down)) return false;
    path.resources.push_back(from.up);
    path.weights.push_back(1);
    path.latency = paths_.latency(from.up) + paths_.latency(to.down);
    if (from.at != to.at) {
      const std::shared_ptr<const Between> between = this->between(from.at, to.at, flow.from);
      if (!between->connected) return false;
      path.resources.insert(path.resources.end(), between->links.begin(), between->links.end());
      path.weights.insert(path.weights.end(), between->shares.begin(), between->shares.end());
      path.latency = between->latency;
    }
    path.resources.push_back(to.down);
    path.weights.push_back(1);
    return true;
  }
  bool settled(std::uint32_t, std::uint32_t) const override { return true; }
  bool even() const override { return true; }
  // ends_at_ports() stays false, as for other flows that are spread over links: counts that rely on it count whole flows.
  Parting parting() const override { return paths_.ports_first() ? Parting::evenly : Parting::one_by_one; }

  void part_pairs(std::span<const SwitchFlows> pairs, std::uint64_t stream,
                  const std::function<void(std::uint32_t, double)>& add_to) const override {
    const std::uint32_t n = paths_.switches();
    std::vector<double> part, halves;
    part.reserve(pairs.size());
    for (const SwitchFlows& pair : pairs) part.push_back(parts_.of(pair.from, pair.to));
    if (std::all_of(part.begin(), part.end(), [](double p) { return p == 0; }))
      return minimal_->part_pairs(pairs, stream, add_to);
    sums().halves(pairs, part, halves);
    // The other router takes whole flows, and is linear in them.
    constexpr double whole = 0x1p24;
    std::vector<SwitchFlows> list;
    for (std::size_t i = 0; i < halves.size(); ++i)
      if (const auto flows = static_cast<std::uint64_t>(std::llround(halves[i] * whole)); flows > 0)
        list.push_back({static_cast<std::uint32_t>(i % n), static_cast<std::uint32_t>(i / n), flows});
    minimal_->part_pairs(list, stream, [&](std::uint32_t link, double flows) { add_to(link, flows / whole); });
  }

  bool leaves_out() const override { return detours_.with_nics().size() > most_listed && paths_.ends_at_ports(); }
  void spread(std::span<const SwitchFlows> pairs, std::span<double> on) const override {
    std::vector<double> part;
    part.reserve(pairs.size());
    for (const SwitchFlows& pair : pairs) part.push_back(parts_.of(pair.from, pair.to));
    std::unique_ptr<Room> room = take_room();
    sums().halves(pairs, part, room->matrix);
    table().spread(room->matrix, on);
    give_back(std::move(room));
  }
  // Of the longest detour, or of minimal paths if these are longer.
  Seconds latency(const Flow& flow) const override {
    const GraphPaths::Port &from = paths_.port(flow.from), &to = paths_.port(flow.to);
    const Seconds begin = paths_.latency(from.up), end = paths_.latency(to.down);
    return from.at == to.at ? begin + end : slowest(from.at, to.at, begin) + end;
  }

 private:
  /// What a flow has on the links between two switches.
  struct Between {
    bool connected = false;
    std::vector<std::uint32_t> links;  ///< ascending
    std::vector<double> shares;        ///< of these links
    Seconds latency;                   ///< with the links of NIC ports
  };

  std::unique_ptr<Router> with_parts(DetourParts parts) const override {
    return make_detour_spreader(paths_.fabric(), paths_.state(), std::move(parts), true);
  }
  const DetourSums& sums() const {
    std::call_once(summed_, [&] { sums_ = std::make_unique<DetourSums>(paths_, detours_); });
    return *sums_;
  }

  const PathTable& table() const {
    std::call_once(listed_, [&] { table_ = std::make_unique<PathTable>(paths_, true); });
    return *table_;
  }

  /// Which of many detours a path lists: two switches begin at a place of their own, and the kinds of ports divide the
  /// distance from one listed detour to the next.
  struct Listing {
    std::uint64_t place, kind, kinds;
    std::vector<std::uint32_t> of(const std::vector<std::uint32_t>& over) const {
      if (over.size() <= most_listed) return over;
      std::vector<std::uint32_t> some;
      for (std::uint64_t i = 0; i < listed_of_more; ++i)
        some.push_back(over[(place + (i * kinds + kind) * over.size() / (listed_of_more * kinds)) % over.size()]);
      return some;
    }
  };
  std::shared_ptr<const Between> between(std::uint32_t from, std::uint32_t to, std::uint32_t port) const {
    // Enough kinds to list all; an odd step, near the golden ratio, divides evenly whatever the number of ports.
    const std::size_t most = detours_.among(from, to).size();
    const std::uint64_t kinds = most <= most_listed || parts_.of(from, to) == 0
                                    ? 1
                                    : std::max<std::uint64_t>(16, std::bit_ceil(most / listed_of_more));
    const std::uint64_t kind = port * (kinds * 5 / 8 | 1) % kinds;
    const std::uint64_t n = paths_.switches(), key = (kind * n + from) * n + to;
    {
      const std::scoped_lock lock(mutex_);
      const auto it = known_.find(key);
      if (it != known_.end()) return it->second;
    }
    auto found = std::make_shared<Between>();
    found->connected = find(from, to, {mix64(from * n + to) % n, kind, kinds}, *found);
    const std::scoped_lock lock(mutex_);
    if (!known_.emplace(key, found).second) return found;
    // Flows mostly repeat the pairs of switches of the flows just before. The oldest are dropped one by one, so that their
    // memory serves the next.
    const std::size_t most_kept = std::size_t{1} << (n > most_listed ? 20 : 22);
    kept_ += found->shares.size() + 1;
    oldest_.push_back(key);
    while (kept_ > most_kept && oldest_.size() > 1) {
      const auto it = known_.find(oldest_.front());
      kept_ -= it->second->shares.size() + 1;
      known_.erase(it);
      oldest_.pop_front();
    }
    return found;
  }

  /// Memory for one flow, for one thread at a time.
  struct Room {
    PathTable::Front front, turn;
    PathTable::Load load;
    std::vector<std::uint32_t> over;
    std::vector<double> matrix;  ///< by second switch, then by first
  };
  std::unique_ptr<Room> take_room() const {
    {
      const std::scoped_lock lock(mutex_);
      if (!rooms_.empty()) {
        std::unique_ptr<Room> room = std::move(rooms_.back());
        rooms_.pop_back();
        return room;
      }
    }
    const std::uint32_t n = paths_.switches();
    return std::make_unique<Room>(Room{PathTable::Front(n), PathTable::Front(n), table().no_load(), {}, {}});
  }
  void give_back(std::unique_ptr<Room> room) const {
    const std::scoped_lock lock(mutex_);
    rooms_.push_back(std::move(room));
  }
  Seconds slowest(std::uint32_t from, std::uint32_t to, Seconds begin) const {
    const std::pair key{std::uint64_t{from} * paths_.switches() + to, begin.value};
    {
      const std::scoped_lock lock(mutex_);
      const auto it = slowest_.find(key);
      if (it != slowest_.end()) return it->second;
    }
    std::unique_ptr<Room> room = take_room();
    const double detour = parts_.of(from, to);
    room->over.clear();
    if (detour > 0) list_detours(from, to, room->over);
    if (!room->over.empty()) {
      const std::uint32_t v = longest(from, to, room->over);
      room->front.put(from, 0, begin);
      table().move_to(v, room->front, room->load);
      room->turn.put(v, 0, room->front.latency[v]);
      room->front.clear();
    }
    if (detour < 1 || room->over.empty()) room->turn.put(from, 0, begin);
    table().move_to(to, room->turn, room->load);
    const Seconds found = room->turn.latency[to];
    room->turn.clear();
    room->load.cables.clear();
    give_back(std::move(room));
    const std::scoped_lock lock(mutex_);
    constexpr std::size_t most = std::size_t{1} << 20;
    if (slowest_.size() > most) slowest_.clear();
    slowest_.emplace(key, found);
    return found;
  }
  void list_detours(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& over) const {
    over.clear();
    for (const std::uint32_t v : detours_.among(from, to))
      if (detours_.suits(from, v, to)) over.push_back(v);
  }
  /// The detour that is longest, the first of several.
  std::uint32_t longest(std::uint32_t from, std::uint32_t to, const std::vector<std::uint32_t>& over) const {
    const std::uint64_t key = std::uint64_t{from} * paths_.switches() + to;
    {
      const std::scoped_lock lock(mutex_);
      const auto it = longest_.find(key);
      if (it != longest_.end()) return it->second;
    }
    std::uint32_t best = over.front(), length = 0;
    for (const std::uint32_t v : over)
      if (const std::uint32_t l = paths_.distance(from, v) + paths_.distance(v, to); l > length) {
        best = v;
        length = l;
      }
    const std::scoped_lock lock(mutex_);
    constexpr std::size_t most = std::size_t{1} << 20;
    if (longest_.size() > most) longest_.clear();
    longest_.emplace(key, best);
    return best;
  }
  bool find(std::uint32_t from, std::uint32_t to, const Listing& listing, Between& out) const {
    const double detour = parts_.of(from, to);
    if (detour == 0 || detours_.among(from, to).empty()) return find_minimal(from, to, out);
    std::unique_ptr<Room> room = take_room();
    const bool found = find_detours(from, to, detour, listing, *room, out);
    give_back(std::move(room));
    return found;
  }
  bool find_detours(std::uint32_t from, std::uint32_t to, double detour, const Listing& listing, Room& room,
                    Between& out) const {
    std::vector<std::uint32_t>& over = room.over;
    list_detours(from, to, over);
    if (over.empty()) return find_minimal(from, to, out);
    if (detour < 1 && paths_.distance(from, to) == GraphPaths::far) return false;
    const Seconds begin = paths_.latency(paths_.port(port_of_[from]).up),
                  end = paths_.latency(paths_.port(port_of_[to]).down);
    PathTable::Front &front = room.front, &turn = room.turn;
    const auto send = [&](std::uint32_t v, double part) {
      front.put(from, part, begin);
      table().move_to(v, front, room.load);
      turn.put(v, front.flows[v], front.latency[v]);
      front.clear();
    };
    const std::vector<std::uint32_t> listed = listing.of(over);
    for (const std::uint32_t v : listed) send(v, detour / static_cast<double>(listed.size()));
    if (listed.size() < over.size()) send(longest(from, to, over), 0);
    // All second halves together, and with them what takes no detour.
    if (detour < 1) turn.put(from, 1 - detour, begin);
    table().move_to(to, turn, room.load);
    out.latency = turn.latency[to] + end;
    turn.clear();
    out.links.reserve(room.load.cables.size());
    out.shares.reserve(room.load.cables.size());
    table().take_links(room.load, [&](std::uint32_t link, double share) {
      out.links.push_back(link);
      out.shares.push_back(share);
    });
    return true;
  }
  bool find_minimal(std::uint32_t from, std::uint32_t to, Between& out) const {
    Path path;
    if (!minimal_->route({port_of_[from], port_of_[to], 0, 0}, path)) return false;
    std::vector<std::pair<std::uint32_t, double>> sorted;
    for (std::size_t i = 1; i + 1 < path.resources.size(); ++i) sorted.emplace_back(path.resources[i], path.weight(i));
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [link, share] : sorted) {
      out.links.push_back(link);
      out.shares.push_back(share);
    }
    out.latency = path.latency;
    return true;
  }

  std::vector<std::uint32_t> port_of_;  ///< by switch: one of its NIC ports
  LinkState between_switches_;          ///< without what is dead at NIC ports
  std::unique_ptr<Router> minimal_;
  mutable std::once_flag listed_, summed_;
  mutable std::unique_ptr<PathTable> table_;
  mutable std::unique_ptr<DetourSums> sums_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint64_t, std::shared_ptr<const Between>> known_;  ///< by pair of switches and kind
  mutable std::deque<std::uint64_t> oldest_;                                         ///< their keys, oldest first
  mutable std::size_t kept_ = 0;                                                     ///< shares in all
  mutable std::vector<std::unique_ptr<Room>> rooms_;                                 ///< not in use
  mutable std::unordered_map<std::uint64_t, std::uint32_t> longest_;                 ///< by pair of switches
  mutable std::map<std::pair<std::uint64_t, double>, Seconds>
      slowest_;  ///< by pair of switches and latency of the port
};

}  // namespace

std::unique_ptr<Router> make_detour_spreader(const Fabric& fabric, const LinkState& state, DetourParts parts,
                                             bool by_load) {
  return std::make_unique<DetourSpreader>(fabric, state, std::move(parts), by_load);
}

}  // namespace fabricast
