// The simulation of the chunk engine: every slice is a transfer of its own, simulated with SimGrid [SimGrid2014]. It is
// a separate module because SimGrid and its libraries take four times as long to load as a forecast of the flow engine
// takes.
//
// Every worker of every channel is an actor that executes its steps in order. Every proxy thread and every sending NIC
// is a server that takes messages one by one. SimGrid's max-min solver shares the links. Service times are those of
// models/protocol, as in the flow engine. Nothing is folded, and no share is assumed. A worker's step with b bytes, in
// s:
//
//   start = max( arrival of all incoming slices, a free slot for each outgoing slice )
//   end   = max( start + overhead + b / copy rate,  end of every transfer over a link inside the node )             (1)
//
// This file relies on the following behavior of SimGrid 3.32. Each item has a regression test
// (tests/unit/engine/simgrid_facts_test.cpp):
// - A link is shared in inverse proportion to the latency of the routes. Links therefore have no latency here, and the
//   receiver waits for it.
// - network/TCP-gamma caps fast links, and network/crosstraffic costs 5 %. Both are off.
// - A route per connection needs a NetZoneImpl of one's own. Actors that start transfers in the same round cannot pass
//   their routes through a shared variable, so every connection has its own sending host.
// - There is one Engine per process, so the simulation runs once in each process.
#include <xbt/log.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "../count/loads.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/protocol/costs.hpp"
#include "parts.hpp"
#include "simulation.hpp"

namespace fabricast {

namespace {

using namespace chunk;

class Simulation {
 public:
  Simulation(const NetworkSetup& setup, const Plan& plan, const Router* router)
      : comm_(*setup.comm),
        plan_(plan),
        setup_(setup),
        router_(router),
        costs_(protocol_costs(comm_, plan)),
        algorithm_(*find_by_algorithm(plan.algorithm)) {}

  /// The end of each channel, s.
  std::vector<double> run() {
    ends_.assign(static_cast<std::size_t>(plan_.channels), 0);
    for (int c = 0; c < plan_.channels; ++c) build_channel(c);
    // SimGrid needs all links and routes before the first actor, so all connections are made first.
    platform_.seal();
    for (auto& [key, wire] : wires_)
      if (wire.network) start_poster(wire);
    for (auto& [key, server] : proxies_) start_proxy(*server);
    for (auto& [key, server] : nics_) start_nic(*server);
    for (std::size_t c = 0; c < programs_.size(); ++c)
      for (std::int32_t w = 0; w < programs_[c]->workers(); ++w)
        sg::Actor::create("worker", platform_.host(), [this, c, w] { work(c, w); });
    sg::Engine::get_instance()->run();
    for (std::size_t c = 0; c < programs_.size(); ++c)
      for (std::int32_t w = 0; w < programs_[c]->workers(); ++w)
        // In a deadlock SimGrid stops without an error.
        FABRICAST_CHECK(ends_[c] > 0 || programs_[c]->steps(w) == 0, "a channel did not end");
    return ends_;
  }

 private:
  struct WireKey {
    int channel;
    std::int32_t from, to;
    auto operator<=>(const WireKey&) const = default;
  };

  std::size_t link(std::uint64_t key, double rate) {
    // A link is made when the first route crosses it, because a fabric has many more links than are used.
    const auto [it, fresh] = links_.try_emplace(key, 0);
    if (fresh) it->second = platform_.add_link(rate);
    return it->second;
  }
  std::size_t network_link(std::uint32_t resource) {
    return link(resource, capacity(*setup_.fabric, *router_, setup_.segments.front().links, resource).value);
  }
  std::size_t node_link(std::uint32_t node, std::uint16_t l, const NodeTransfer& transfer) {
    return link((std::uint64_t{1} << 40) + node * comm_.node.graph.links.size() + l,
                inside_rate(comm_, setup_.segments.front(), node, l, transfer));
  }

  /// Appends the links of a transfer inside a node to a path.
  void cross(std::uint32_t node, const NodeTransfer& transfer, std::vector<std::size_t>& path) {
    for (const std::uint16_t l : inside_path(comm_, transfer)) path.push_back(node_link(node, l, transfer));
  }

  /// The host on which a rank's block of a channel copies, if copies in both directions slow each other down; else
  /// null.
  sg::Host* block(int channel, std::uint32_t rank) {
    // If both directions copy at full rate, nothing is shared.
    if (costs_.both_directions >= 2) return nullptr;
    auto& host = blocks_[{channel, rank}];
    if (!host) host = platform_.add_block(costs_.both_directions);
    return host;
  }

  void build_channel(int channel) {
    programs_.push_back(algorithm_.program(comm_, plan_, channel));
    const ChannelProgram& program = *programs_.back();
    const std::vector<NetworkEdge> edges = list_edges(algorithm_, comm_, plan_, channel);
    for (std::int32_t w = 0; w < program.workers(); ++w) {
      block(channel, program.rank_of(w).value);
      for (std::int64_t i = 0; i < program.steps(w); ++i) {
        const Step step = program.step(w, i);
        for (const std::int32_t to : step.to) connect(channel, program, edges, w, to);
        if (step.in_nvswitch) add_operations(channel, program, w);
        if (step.in_switches) add_tree(channel, w, *step.in_switches);
      }
    }
  }

  /// Adds the routes of the NVSwitch's operations for a worker.
  void add_operations(int channel, const ChannelProgram& program, std::int32_t worker) {
    const auto [it, fresh] = operations_.try_emplace({channel, worker});
    if (!fresh) return;
    const std::uint32_t rank = program.rank_of(worker).value, g = static_cast<std::uint32_t>(comm_.gpus());
    const int gpu = static_cast<int>(rank % g);
    const auto route = [&](const NodeTransfer& transfer) {
      std::vector<std::size_t> path;
      cross(rank / g, transfer, path);
      return platform_.add_route(path);
    };
    it->second.reduce = route({NodeTransfer::Kind::reduce, -1, gpu});
    it->second.multicast = route({NodeTransfer::Kind::multicast, gpu, -1});
  }

  /// Adds the route over all links of a tree of switches that reduce.
  void add_tree(int channel, std::int32_t worker, const AggregationTree& tree) {
    const auto [it, fresh] = operations_.try_emplace({channel, worker});
    if (!fresh) return;
    std::vector<std::size_t> path;
    for (const LinkId link : tree.links) path.push_back(network_link(link.value));
    it->second.tree = platform_.add_route(path);
  }

  /// Makes half of a hop: from a GPU's buffer up into a tree of switches, or down from it.
  void connect_tree(Wire& wire, const ChannelProgram& program, std::int32_t from, std::int32_t to) {
    const AggregationTree* above = program.step(to, 0).in_switches;
    const AggregationTree& tree = above ? *above : *program.step(from, 0).in_switches;
    const std::uint32_t rank = program.rank_of(above ? from : to).value, g = static_cast<std::uint32_t>(comm_.gpus());
    const int gpu = static_cast<int>(rank % g), nic = comm_.nic_of_gpu[static_cast<std::size_t>(gpu)];
    const NodeTransfer transfer = above ? NodeTransfer{NodeTransfer::Kind::gpu_to_nic, gpu, nic}
                                        : NodeTransfer{NodeTransfer::Kind::nic_to_gpu, nic, gpu};
    std::vector<std::size_t> path;
    for (const std::uint16_t l : inside_path(comm_, transfer)) path.push_back(node_link(rank / g, l, transfer));
    // The latency of a tree is up and down. Each half of a hop has half of it.
    wire.latency = tree.latency.value / 2 + (above ? 0 : costs_.network_latency(0).value / 2);
    wire.hop = 0.5;
    wire.in_switches = true;
    if (above) {
      wire.network = true;
      wire.proxy = rank;
      wire.nic = {rank, {}};
      proxies_.try_emplace(wire.proxy, std::make_unique<Server>());
      nics_.try_emplace(wire.nic, std::make_unique<Server>());
    }
    if (!path.empty()) wire.from = platform_.add_route(path);
    for (int s = 0; s < plan_.slots; ++s) wire.credit.send(0), wire.remote.send(0);
  }

  /// The queue of a connection's NIC. Channels with the same connections run in step, and a NIC sends their messages
  /// one after the other. Sends and receives are not in step: the NIC takes turns among their queue pairs.
  std::size_t queue_of(int channel, const std::vector<NetworkEdge>& edges, const NetworkEdge& edge) {
    if (algorithm_.in_pairs)
      return static_cast<std::size_t>(channel) * edges.size() + static_cast<std::size_t>(&edge - edges.data());
    const auto known = std::find(patterns_.begin(), patterns_.end(), edges) - patterns_.begin();
    if (known == static_cast<std::ptrdiff_t>(patterns_.size())) patterns_.push_back(edges);
    return static_cast<std::size_t>(known);
  }

  void connect(int channel, const ChannelProgram& program, const std::vector<NetworkEdge>& edges, std::int32_t from,
               std::int32_t to) {
    auto [it, fresh] = wires_.try_emplace(WireKey{channel, from, to});
    if (!fresh) return;
    Wire& wire = it->second;
    wire.channel = channel;
    if (program.step(to, 0).in_switches || program.step(from, 0).in_switches)
      return connect_tree(wire, program, from, to);
    std::vector<std::size_t> path;
    const std::uint32_t a = program.rank_of(from).value, b = program.rank_of(to).value,
                        g = static_cast<std::uint32_t>(comm_.gpus());
    const int gpu_a = static_cast<int>(a % g), gpu_b = static_cast<int>(b % g);
    if (program.is_flag(from, to)) {
      // A flag carries no data: it takes the latency of a hop, but no link.
      wire.latency = a == b && algorithm_.own_flags_free ? 0 : costs_.hop_inside.value;
    } else if (a / g == b / g) {
      cross(a / g, {NodeTransfer::Kind::gpu_to_gpu, gpu_a, gpu_b}, path);
      wire.latency = costs_.hop_inside.value;
    } else {
      wire.network = true;
      const auto nics = program.nics(from, to);
      const auto edge = std::find_if(edges.begin(), edges.end(), [&](const NetworkEdge& e) {
        if (e.channel_or(static_cast<std::uint32_t>(channel)) != static_cast<std::uint32_t>(channel)) return false;
        return e.from == a / g && e.to == b / g && (nics[0] < 0 || (e.from_nic == nics[0] && e.to_nic == nics[1]));
      });
      FABRICAST_CHECK(edge != edges.end(), "a network hop is not an edge of the schedule");
      cross(a / g, {NodeTransfer::Kind::gpu_to_nic, gpu_a, edge->from_nic}, path);
      Path route;
      const Flow flow = flow_of(comm_, *setup_.fabric, *edge, static_cast<std::uint32_t>(channel),
                                static_cast<std::size_t>(edge - edges.begin()), 0);
      FABRICAST_CHECK(router_->route(flow, route), "the fabric is cut, which the engine has checked before");
      for (const std::uint32_t r : route.resources) path.push_back(network_link(r));
      cross(b / g, {NodeTransfer::Kind::nic_to_gpu, edge->to_nic, gpu_b}, path);
      wire.latency = route.latency.value;
      wire.proxy = a / g * g + static_cast<std::uint32_t>(proxy_gpu(gpu_a, edge->from_nic));
      wire.nic = {queue_of(channel, edges, *edge), route.resources};
      proxies_.try_emplace(wire.proxy, std::make_unique<Server>());
      nics_.try_emplace(wire.nic, std::make_unique<Server>());
    }
    if (!path.empty()) wire.from = platform_.add_route(path);
    for (int s = 0; s < plan_.slots; ++s) wire.credit.send(0), wire.remote.send(0);
  }

  /// The GPU whose proxy thread sends. With PXN, sends between pairs of ranks leave by that of the NIC's GPU.
  int proxy_gpu(int gpu, int nic) const {
    const std::vector<int>& nics = comm_.nic_of_gpu;
    if (!algorithm_.in_pairs || nics[static_cast<std::size_t>(gpu)] == nic) return gpu;
    return static_cast<int>(std::find(nics.begin(), nics.end(), nic) - nics.begin());
  }

  /// Holds the messages of a connection back until the receiver has a slot for them.
  void start_poster(Wire& wire) {
    sg::Actor::create("poster", platform_.host(), [this, &wire] {
      while (true) {
        wire.post->acquire();
        wire.remote.take();
        proxies_[wire.proxy]->push({wire.posted.front().bytes, wire.posted.front().first, &wire});
        wire.posted.pop_front();
      }
    })->daemonize();
  }

  /// Proxy threads and NICs are daemons: they serve forever and do not keep the simulation running.
  void start_proxy(Server& server) {
    sg::Actor::create("proxy", platform_.host(), [this, &server] {
      while (true) {
        Server::Message m = server.pop();
        // The thread is busy during this time, independently of the NIC.
        sg::this_actor::sleep_for(costs_.proxy(m.bytes).value + (m.first ? costs_.peer.value : 0));
        nics_[m.wire->nic]->push(m);
      }
    })->daemonize();
  }
  void start_nic(Server& server) {
    sg::Actor::create("nic", platform_.host(), [this, &server] {
      while (true) {
        Server::Message m = server.pop();
        if (m.bytes > 0 && m.wire->from) platform_.start(m.bytes * costs_.wire, m.wire->from, 0)->wait();
        // The sender's slot is free when the slice has left. The slice arrives at the receiver one hop later.
        m.wire->credit.send(sg::Engine::get_clock());
        m.wire->last.send(sg::Engine::get_clock() + m.wire->hop * costs_.network_latency(m.bytes).value +
                          m.wire->latency);
      }
    })->daemonize();
  }

  void work(std::size_t c, std::int32_t w) {
    const ChannelProgram& program = *programs_[c];
    const int channel = static_cast<int>(c);
    for (std::int64_t i = 0; i < program.steps(w); ++i) {
      const Step step = program.step(w, i);
      const auto bytes = static_cast<double>(step.bytes());
      std::vector<Wire*> in, out;
      for (const std::int32_t f : step.from) in.push_back(&wires_.at({channel, f, w}));
      for (const std::int32_t t : step.to) out.push_back(&wires_.at({channel, w, t}));
      // With cut-through a slice may be forwarded while it is still arriving.
      for (Wire* wire : in)
        if (costs_.cut_through && !wire->network)
          wire->first.take();
        else
          wire->last.take();
      // A step starts only when there is a free slot for each of its results.
      for (Wire* wire : out) wire->credit.take();
      const double start = sg::Engine::get_clock();
      const auto by_network = [](const Wire* wire) { return wire->network || wire->in_switches; };
      const bool at_nic =
          std::any_of(in.begin(), in.end(), by_network) || std::any_of(out.begin(), out.end(), by_network);
      const bool free = step.waits || step.in_switches;  // no GPU is busy
      // A head of NVLS moves one chunk, while the other ranks copy the chunks of all heads.
      const double one = step.in_nvswitch ? 1 / costs_.copies : 1;
      const double overhead =
          free ? 0 : one * costs_.gpu_overhead(bytes).value + (at_nic ? costs_.network_slice.value : 0);
      // Slower copies lower the rate of the threads, which caps the transfers of the step.
      const double slower = costs_.fan_out(program.nodes_beside(w));
      const double bytewise = program.aligned(w, i) ? 1 : costs_.unaligned;
      const double copy_rate = costs_.copy_rate.value / (program.sharers(w, i) * slower * bytewise);
      for (Wire* wire : out)
        if (costs_.cut_through && !wire->network) wire->first.send(start + overhead + wire->latency);
      std::vector<sg::CommPtr> copies;
      if (step.in_switches && bytes > 0)
        copies.push_back(platform_.start(bytes * costs_.tree_weight, operations_.at({channel, w}).tree, 0));
      if (step.in_nvswitch && bytes > 0) {
        const Operations& operations = operations_.at({channel, w});
        const auto inside = [&](const Wire* wire) { return !by_network(wire); };
        if (std::any_of(in.begin(), in.end(), inside)) copies.push_back(platform_.start(bytes, operations.reduce, 0));
        if (std::any_of(out.begin(), out.end(), inside))
          copies.push_back(platform_.start(bytes, operations.multicast, 0));
      }
      for (std::size_t k = 0; k < out.size(); ++k) {
        const double part = step.split ? static_cast<double>(step.ranges[k].size) : bytes;
        if (!out[k]->network && part > 0 && out[k]->from)
          copies.push_back(platform_.start(part * costs_.wire, out[k]->from, free ? 0 : copy_rate * costs_.wire));
      }
      // A step that only receives stores nothing to a neighbor.
      const double part = (out.empty() && !in.empty() ? costs_.last_receive : 1) * (at_nic ? costs_.copies_at_nic : 1);
      const double copying = free ? 0 : bytes / copy_rate * part;
      sg::Host* const own = free || copying <= 0 ? nullptr : block(channel, program.rank_of(w).value);
      const sg::ExecPtr exec = own ? Platform::start(copying, own) : nullptr;
      for (const sg::CommPtr& copy : copies) copy->wait();
      if (exec) exec->wait();
      // A message larger than the window of the switches waits for round trips.
      if (step.in_switches) sg::this_actor::sleep_for(comm_.sharp.waits(bytes) * step.in_switches->latency.value);
      // Threads and links work at the same time, so the slower of them determines the end of the step.
      const double copied = exec ? exec->get_finish_time() : start + copying;
      if (sg::Engine::get_clock() < copied + overhead) sg::this_actor::sleep_until(copied + overhead);
      for (Wire* wire : in)
        if (costs_.cut_through && !wire->network) wire->last.take();
      const double end = sg::Engine::get_clock();
      for (Wire* wire : in) {
        if (wire->network)
          wire->remote.send(end + wire->hop * costs_.network_latency(bytes).value + wire->latency);
        else
          wire->credit.send(end + wire->latency);
      }
      for (Wire* wire : out) {
        if (wire->network) {
          // The worker continues, and the poster waits for a slot of the receiver.
          wire->posted.push_back({bytes, step.slice == 0});
          wire->post->release();
        } else
          wire->last.send(end + wire->latency);
      }
    }
    ends_[c] = std::max(ends_[c], sg::Engine::get_clock());
  }

  const Communicator& comm_;
  const Plan& plan_;
  const NetworkSetup& setup_;
  const Router* router_;
  ProtocolCosts costs_;
  const CollectiveAlgorithm& algorithm_;
  Platform platform_;
  std::vector<std::unique_ptr<ChannelProgram>> programs_;
  std::map<std::uint64_t, std::size_t> links_;
  std::map<WireKey, Wire> wires_;
  struct Operations {
    sg::Host *reduce = nullptr, *multicast = nullptr, *tree = nullptr;
  };
  std::map<std::pair<int, std::uint32_t>, sg::Host*> blocks_;      ///< by channel and rank
  std::map<std::pair<int, std::int32_t>, Operations> operations_;  ///< by channel and worker
  std::map<std::uint64_t, std::unique_ptr<Server>> proxies_;
  std::map<SenderKey, std::unique_ptr<Server>> nics_;
  std::vector<std::vector<NetworkEdge>> patterns_;  ///< of channels
  std::vector<double> ends_;
};

}  // namespace

}  // namespace fabricast

void fabricast_chunk_simulate(const fabricast::NetworkSetup& setup, const fabricast::Plan& plan,
                              const fabricast::Router* router, std::vector<double>& ends) {
  int argc = 1;
  std::string name = "fabricast";
  // Only the command line may write to the terminal.
  xbt_log_control_set("root.thresh:critical");
  std::vector<char*> argv{name.data(), nullptr};
  simgrid::s4u::Engine engine(&argc, argv.data());
  simgrid::s4u::Engine::set_config("network/model:CM02");
  simgrid::s4u::Engine::set_config("network/crosstraffic:0");
  simgrid::s4u::Engine::set_config("network/TCP-gamma:0");
  simgrid::s4u::Engine::set_config("surf/precision:1e-12");
  simgrid::s4u::Engine::set_config("maxmin/precision:1e-9");
  // In KiB. Small, because there is an actor for each worker of each channel.
  simgrid::s4u::Engine::set_config("contexts/stack-size:64");
  ends = fabricast::Simulation(setup, plan, router).run();
}
