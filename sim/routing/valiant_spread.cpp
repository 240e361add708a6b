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
// not. Numbers of flows between switches are parted over all detours in any case.
//
// With `ugal`, q is that of a pair of switches (detours_by_load.cpp).
#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <unordered_map>

#include "detour_sums.hpp"
#include "fabricast/core/rng.hpp"
#include "path_table.hpp"

namespace fabricast {

namespace {

/// A path over all of 1,000 detours would list most links of the fabric.
constexpr std::uint32_t most_listed = 256, listed_of_more = 64;

class DetourSpreader final : public DetourRouter {
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
      for (const auto& [link, share] : between->shares) {
        path.resources.push_back(link);
        path.weights.push_back(share);
      }
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

 private:
  using Shares = std::vector<std::pair<std::uint32_t, double>>;  ///< by link
  /// What a flow has on the links between two switches.
  struct Between {
    bool connected = false;
    Shares shares;    ///< ascending by link
    Seconds latency;  ///< with the links of NIC ports
  };

  std::unique_ptr<Router> with_parts(DetourParts parts) const override {
    return make_detour_spreader(paths_.fabric(), paths_.state(), std::move(parts), true);
  }
  const DetourSums& sums() const {
    std::call_once(summed_, [&] { sums_ = std::make_unique<DetourSums>(paths_, detours_); });
    return *sums_;
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
    // Flows mostly repeat the pairs of switches of the flows just before.
    constexpr std::size_t most_kept = std::size_t{1} << 22;
    if (kept_ > most_kept) {
      known_.clear();
      kept_ = 0;
    }
    kept_ += found->shares.size() + 1;
    known_.insert_or_assign(key, found);
    return found;
  }
  bool find(std::uint32_t from, std::uint32_t to, const Listing& listing, Between& out) const {
    const double detour = parts_.of(from, to);
    std::vector<std::uint32_t> over;
    if (detour > 0)
      for (const std::uint32_t v : detours_.among(from, to))
        if (detours_.suits(from, v, to)) over.push_back(v);
    if (over.empty()) return find_minimal(from, to, out);
    if (detour < 1 && paths_.distance(from, to) == GraphPaths::far) return false;
    std::call_once(listed_, [&] { table_ = std::make_unique<PathTable>(paths_); });
    const Seconds begin = paths_.latency(paths_.port(port_of_[from]).up),
                  end = paths_.latency(paths_.port(port_of_[to]).down);
    std::vector<double> on(table_->cables(), 0);
    PathTable::Front front(paths_.switches()), turn(front);
    const auto send = [&](std::uint32_t over, double part) {
      front.flows[from] = part;
      front.latency[from] = begin;
      table_->move_to(over, front, on);
      turn.flows[over] += front.flows[over];
      turn.latency[over] = front.latency[over];
      front.clear(over);
    };
    const std::vector<std::uint32_t> listed = listing.of(over);
    for (const std::uint32_t v : listed) send(v, detour / static_cast<double>(listed.size()));
    if (listed.size() < over.size()) {
      const auto length = [&](std::uint32_t v) { return paths_.distance(from, v) + paths_.distance(v, to); };
      send(*std::max_element(over.begin(), over.end(),
                             [&](std::uint32_t a, std::uint32_t b) { return length(a) < length(b); }),
           0);
    }
    // All second halves together, and with them what takes no detour.
    if (detour < 1) {
      turn.flows[from] = 1 - detour;
      turn.latency[from] = begin;
    }
    table_->move_to(to, turn, on);
    out.latency = turn.latency[to] + end;
    table_->for_each_link(on, [&](std::uint32_t link, double share) { out.shares.emplace_back(link, share); });
    std::sort(out.shares.begin(), out.shares.end());
    return true;
  }
  bool find_minimal(std::uint32_t from, std::uint32_t to, Between& out) const {
    Path path;
    if (!minimal_->route({port_of_[from], port_of_[to], 0, 0}, path)) return false;
    for (std::size_t i = 1; i + 1 < path.resources.size(); ++i)
      out.shares.emplace_back(path.resources[i], path.weight(i));
    std::stable_sort(out.shares.begin(), out.shares.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
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
  mutable std::size_t kept_ = 0;                                                     ///< shares in all
};

}  // namespace

std::unique_ptr<Router> make_detour_spreader(const Fabric& fabric, const LinkState& state, DetourParts parts,
                                             bool by_load) {
  return std::make_unique<DetourSpreader>(fabric, state, std::move(parts), by_load);
}

}  // namespace fabricast
