// (1) of peer_transfers.hpp by a queue of events. Once the slots are full, events repeat with every round of slots, so
// only some of K chunks are followed:
//
//   T(K) = T(B) + ( T(B) - T(A) ) (K - B) / P,      P = 2 slots,  B = A + P,  A >= 3 slots,  A = K mod P            (2)
//
// The end of a chunk on a link or NIC is not a queued event: while both are busy each is slower, so the remainder of a
// chunk is updated from event to event.
#include "peer_transfers.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <tuple>

#include "fabricast/collective/peers.hpp"

namespace fabricast {

namespace {

class PeerSimulation {
 public:
  /// \param most  number of chunks of a part that are followed
  PeerSimulation(const PeerTransfers& x, std::int64_t most)
      : x_(x), most_(most), link_(x.link, x.link_shared), nic_(x.nic, x.nic_shared) {}

  double run() {
    for (const std::vector<PeerPart>& parts : x_.channels) {
      const std::size_t places = std::min<std::size_t>(parts.size(), concurrent_parts);
      for (std::size_t place = 0; place < places; ++place) {
        places_.push_back({&parts, place});
        begin(places_.size() - 1);
      }
    }
    while (true) {
      // Chunks on a link have no fixed end, so they are not in the queue. The next end is computed each time.
      const double served = std::min(link_.next(now_, nic_), nic_.next(now_, link_));
      if (events_.empty() && served == infinity) break;
      if (events_.empty() || served < std::get<0>(events_.top())) {
        finish_served(served);
        continue;
      }
      const auto [time, order, what, place] = events_.top();
      events_.pop();
      elapse(time);
      switch (what) {
        case What::copied: copied(place); break;
        case What::posted: nic_.push(place, bytes(places_[place], places_[place].posted++)); break;
        case What::arrived: arrived(place); break;
        case What::consumed: consumed(place); break;
        case What::credit: ++places_[place].free_slots, copy_next(place); break;
      }
    }
    return now_;
  }

 private:
  enum class What : std::uint8_t { copied, posted, arrived, consumed, credit };
  using Event = std::tuple<double, std::uint64_t, What, std::size_t>;  // order breaks ties

  /// One of the parts that a channel works on concurrently.
  struct Place {
    const std::vector<PeerPart>* parts;
    std::size_t part;
    std::int64_t started = 0, sent = 0, posted = 0, received = 0, done = 0;
    int free_slots = 0;
    int copying = 0;           ///< number of things that its chunk waits for: threads, link
    double receiver_free = 0;  ///< threads that receive are separate from those that send
  };

  const PeerPart& part(const Place& p) const { return (*p.parts)[p.part]; }
  std::int64_t chunks(const Place& p) const { return std::min(most_, part(p).chunks); }
  double bytes(const Place& p, std::int64_t index) const { return index + 1 == chunks(p) ? part(p).last : x_.chunk; }
  /// Number of concurrent parts, this one included. The last ones of a channel may be fewer.
  static double side_by_side(const Place& p) {
    const std::size_t first = p.part / concurrent_parts * concurrent_parts;
    return static_cast<double>(std::min<std::size_t>(concurrent_parts, p.parts->size() - first));
  }
  /// s; a GPU's time for a chunk that it sends or receives.
  double threads(const Place& p, double size, bool sends) const {
    const bool at_nic = part(p).route == PeerPart::Route::network;
    const double sharers = (sends ? x_.sender_alone : x_.receiver_alone) ? 1 : side_by_side(p);
    const double own = sends ? part(p).send : x_.receive * part(p).receive;
    const double copies = own * (at_nic ? x_.copies_at_nic : 1);
    return x_.overhead + (at_nic ? x_.network_overhead : 0) + size * x_.copy * sharers * copies;
  }
  void at(double time, What what, std::size_t place) { events_.push({time, next_++, what, place}); }

  void begin(std::size_t place) {
    Place& p = places_[place];
    p.started = p.sent = p.posted = p.received = p.done = 0;
    p.free_slots = x_.slots;
    copy_next(place);
  }

  void copy_next(std::size_t place) {
    Place& p = places_[place];
    if (p.part >= p.parts->size() || p.copying > 0 || p.free_slots == 0 || p.started == chunks(p)) return;
    const double size = bytes(p, p.started++);
    const bool inside = part(p).route == PeerPart::Route::inside;
    // Threads and link work at the same time, and both have to finish.
    if (inside) link_.push(place, size);
    p.copying = inside ? 2 : 1;
    --p.free_slots;
    at(now_ + threads(p, size, true), What::copied, place);
  }

  void copied(std::size_t place) {
    Place& p = places_[place];
    if (--p.copying > 0) return;
    switch (part(p).route) {
      case PeerPart::Route::self:  // a copy inside the GPU; nothing is received
        ++p.sent, ++p.free_slots;
        finish_one(place);
        break;
      case PeerPart::Route::inside: at(now_ + x_.hop_inside, What::arrived, place), ++p.sent; break;
      case PeerPart::Route::network: {
        const std::size_t proxy = part(p).proxy;
        if (proxy >= proxy_free_.size()) proxy_free_.resize(proxy + 1, 0);
        // One thread serves all channels, first come, first served.
        double& free = proxy_free_[proxy];
        const double moving = x_.thread * bytes(p, p.sent);
        free = std::max(free, now_) + x_.message + moving + (p.sent == 0 ? x_.first_message : 0);
        at(free, What::posted, place);
        ++p.sent;
        break;
      }
    }
    copy_next(place);
  }

  void arrived(std::size_t place) {
    Place& p = places_[place];
    // The arrival stands for what this rank has sent, because every rank does the same at the same time.
    p.receiver_free = std::max(p.receiver_free, now_) + threads(p, bytes(p, p.received++), false);
    at(p.receiver_free, What::consumed, place);
  }

  void consumed(std::size_t place) {
    const bool network = part(places_[place]).route == PeerPart::Route::network;
    // Only if a chunk still needs the slot. As the last event it would count as the end of the collective.
    if (places_[place].started < chunks(places_[place]))
      at(now_ + (network ? x_.hop_network : x_.hop_inside), What::credit, place);
    finish_one(place);
  }

  void finish_one(std::size_t place) {
    Place& p = places_[place];
    if (++p.done < chunks(p)) return;
    // The next part in a place does not wait for the parts in other places.
    p.part += concurrent_parts;
    if (p.part < p.parts->size()) begin(place);
  }

  /// A server of chunks, one by one. It is faster while the other line is idle.
  class Line {
   public:
    Line(double alone, double shared) : alone_(alone), shared_(shared) {}
    void push(std::size_t place, double bytes) { chunks_.emplace_back(place, bytes); }
    /// s; when the first chunk ends if nothing changes.
    double next(double now, const Line& other) const {
      return chunks_.empty() ? infinity : now + std::max(0.0, chunks_.front().second) * pace(other);
    }
    void elapse(double seconds, const Line& other) {
      if (!chunks_.empty() && pace(other) > 0) chunks_.front().second -= seconds / pace(other);
    }
    std::size_t pop() {
      const std::size_t place = chunks_.front().first;
      chunks_.pop_front();
      return place;
    }

   private:
    double pace(const Line& other) const { return alone_ + (other.chunks_.empty() ? 0 : shared_); }
    double alone_, shared_;                              // s per byte
    std::deque<std::pair<std::size_t, double>> chunks_;  // place, bytes left
  };

  void elapse(double time) {
    link_.elapse(time - now_, nic_);
    nic_.elapse(time - now_, link_);
    now_ = time;
  }
  void finish_served(double time) {
    const bool inside = link_.next(now_, nic_) <= nic_.next(now_, link_);
    elapse(time);
    if (inside)
      copied(link_.pop());
    else
      at(now_ + x_.hop_network, What::arrived, nic_.pop());
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  const PeerTransfers& x_;
  std::int64_t most_;
  double now_ = 0;
  std::vector<double> proxy_free_;
  Line link_, nic_;
  std::uint64_t next_ = 0;
  std::vector<Place> places_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

double peer_makespan(const PeerTransfers& x) {
  std::int64_t longest = 0;
  for (const auto& parts : x.channels)
    for (const PeerPart& p : parts) longest = std::max(longest, p.chunks);
  // The longest part sets the length. Shorter parts keep their number of chunks.
  const std::int64_t round = std::int64_t{2} * x.slots, filled = std::int64_t{3} * x.slots;
  if (longest <= filled + 2 * round) return PeerSimulation(x, longest).run();
  const std::int64_t a = filled + (longest - filled) % round, b = a + round;
  // Whole rounds are left out, so that the last chunk keeps its size and its slot.
  const double at_a = PeerSimulation(x, a).run(), at_b = PeerSimulation(x, b).run();
  const std::int64_t rounds = (longest - b) / round;
  return at_b + (at_b - at_a) * static_cast<double>(rounds);
}

double busiest_proxy(const PeerTransfers& x) {
  // The work of a thread without any waiting. It does not depend on the order of chunks.
  std::vector<double> busy{0};
  for (const auto& parts : x.channels)
    for (const PeerPart& p : parts) {
      if (p.route != PeerPart::Route::network) continue;
      if (p.proxy >= busy.size()) busy.resize(p.proxy + 1, 0);
      const auto chunks = static_cast<double>(p.chunks);
      busy[p.proxy] += x.first_message + chunks * x.message + x.thread * ((chunks - 1) * x.chunk + p.last);
    }
  return *std::max_element(busy.begin(), busy.end());
}

}  // namespace fabricast
