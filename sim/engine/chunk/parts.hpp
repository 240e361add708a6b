// Building blocks of the chunk engine's simulation: links and routes in SimGrid, and signals and queues between actors.
//
//   a transfer of b bytes over links l:   end = start + integral until b of  min( cap, max-min share over l )       (1)
//
// SimGrid computes (1). Slots, latencies and queues are the signals and servers of this file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace fabricast::chunk {

namespace sg = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

/// A zone in which every sending host has its own route.
class RouteZone final : public routing::NetZoneImpl {
 public:
  explicit RouteZone(const std::string& name) : NetZoneImpl(name) {}
  // SimGrid calls this for each transfer. The route depends on the sender alone: a path belongs to a queue pair, not to
  // a pair of ends.
  void get_local_route(const routing::NetPoint* from, const routing::NetPoint*, routing::Route* into,
                       double*) override {
    for (simgrid::kernel::resource::StandardLinkImpl* link : routes[from]) into->link_list_.push_back(link);
  }
  std::map<const routing::NetPoint*, std::vector<simgrid::kernel::resource::StandardLinkImpl*>> routes;
};

/// Links, and routes over any list of them. All routes end at one host, because actors model what happens after the
/// last link.
class Platform {
 public:
  Platform() {
    zone_ = new RouteZone("all");  // owned by SimGrid's root zone
    host_ = zone_->get_iface()->create_host("here", 1e9)->seal();
  }
  std::size_t add_link(double rate) {
    // No latency: SimGrid would share links in inverse proportion to the latency of the routes.
    links_.push_back(
        zone_->get_iface()->create_link(fmt::format("l{}", links_.size()), rate * unit)->set_latency(0)->seal());
    return links_.size() - 1;
  }
  /// Adds a sender whose transfers cross these links.
  sg::Host* add_route(const std::vector<std::size_t>& links) {
    sg::Host* from = zone_->get_iface()->create_host(fmt::format("w{}", zone_->routes.size()), 1e9)->seal();
    auto& route = zone_->routes[from->get_netpoint()];
    for (const std::size_t l : links) route.push_back(links_[l]->get_impl());
    return from;
  }
  /// Adds the threads of a block. A copy in one direction runs at rate 1, and copies in both directions at once share
  /// `both_directions`.
  sg::Host* add_block(double both_directions) {
    return zone_->get_iface()->create_host(fmt::format("b{}", blocks_++), both_directions)->seal();
  }
  static sg::ExecPtr start(double seconds, sg::Host* block) {
    return sg::Exec::init()->set_flops_amount(seconds)->set_bound(1)->set_host(block)->start();
  }
  void seal() { zone_->get_iface()->seal(); }
  sg::Host* host() const { return host_; }
  /// Starts a transfer over a sender's route. \param cap  maximum rate; 0: none
  sg::CommPtr start(double bytes, sg::Host* from, double cap) const {
    sg::CommPtr comm = sg::Comm::sendto_init();
    comm->set_payload_size(static_cast<std::uint64_t>(std::llround(bytes * unit)));
    if (cap > 0) comm->set_rate(cap * unit);
    comm->set_source(from)->set_destination(host_);  // starts the transfer; start() would start it twice
    return comm;
  }

 private:
  // SimGrid counts whole bytes. A smaller unit keeps rounding errors negligible.
  static constexpr double unit = 1024;
  RouteZone* zone_;
  sg::Host* host_;
  std::vector<sg::Link*> links_;
  std::size_t blocks_ = 0;
};

/// Points in time sent from one actor to another. The receiver gets each one at its time, in order.
class Signals {
 public:
  void send(double at) {
    times_.push_back(at);
    ready_->release();
  }
  /// Waits for the next signal, and until its time.
  void take() {
    ready_->acquire();
    // Signals are sent ahead of their time, so that no extra actor has to delay each one.
    const double at = times_.front();
    times_.pop_front();
    if (at > sg::Engine::get_clock()) sg::this_actor::sleep_until(at);
  }

 private:
  std::deque<double> times_;
  sg::SemaphorePtr ready_ = sg::Semaphore::create(0);
};

/// A queue of a NIC. Messages of channels that are in step with each other and take the same path are sent one after
/// the other. Messages on other paths share the NIC with them, so that a delayed path does not delay the rest.
struct SenderKey {
  std::size_t pattern = 0;          ///< of the channel
  std::vector<std::uint32_t> path;  ///< resources of the router
  auto operator<=>(const SenderKey&) const = default;
};

/// A connection between two workers of a channel.
struct Wire {
  Signals first, last;  ///< arrival of the first and last byte of a slice
  Signals credit;       ///< a slot of the sender's buffer is free again
  Signals remote;       ///< over the network: a slot of the receiver's buffer is free again
  struct Posted {
    double bytes;
    bool first;  ///< whether it is the first slice of a chunk
  };
  std::deque<Posted> posted;  ///< messages that wait for a slot of the receiver
  sg::SemaphorePtr post = sg::Semaphore::create(0);
  int channel = 0;
  bool network = false;      ///< sent by a proxy thread
  bool in_switches = false;  ///< to or from a tree of switches that reduce
  sg::Host* from = nullptr;  ///< sender whose route it takes; null: it crosses no link
  double latency = 0;        ///< s
  double hop = 1;            ///< fraction of a network hop's latency
  std::size_t proxy = 0;     ///< number of the proxy thread
  SenderKey nic;
};

/// A server that takes messages one by one. Messages that arrive at the same time are taken in the order of channels,
/// so that channels in step keep their order.
struct Server {
  struct Message {
    double bytes;
    bool first;
    Wire* wire;
    double came = 0;  ///< s
  };
  static constexpr double moment = 1e-11;  ///< s; clocks of channels in step differ by rounding
  std::deque<Message> queue;
  sg::SemaphorePtr ready = sg::Semaphore::create(0);
  void push(Message m) {
    m.came = sg::Engine::get_clock();
    queue.push_back(m);
    ready->release();
  }
  Message pop() {
    ready->acquire();
    sg::this_actor::sleep_for(moment);  // now all messages of this time have arrived
    const auto before = [](const Message& a, const Message& b) {
      return a.came < b.came - moment || (a.came < b.came + moment && a.wire->channel < b.wire->channel);
    };
    const auto next = std::min_element(queue.begin(), queue.end(), before);
    Message m = *next;
    queue.erase(next);
    return m;
  }
};

}  // namespace fabricast::chunk
