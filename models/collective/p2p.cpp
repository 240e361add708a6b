// Sends and receives: alltoall, sendrecv, scatter and gather, as NCCL schedules point-to-point calls (peers.hpp).
//
// All pairs of ranks communicate at once, so the work of each GPU, proxy thread, NIC and link determines the time, not
// a chain of steps. A channel works on eight parts concurrently, each with its own slots.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/peers.hpp"

namespace fabricast {

namespace {

bool supports(CollectiveOp op) { return is_point_to_point(op); }

/// One stream stands for all channels: the message of every pair, in concurrent parts.
Stream stream(const Communicator&, const Plan& plan, int) {
  Stream s;
  s.timing = "peers";
  s.slots = plan.slots;
  s.loops = plan.part / plan.chunk;
  s.slice = plan.chunk;
  if (const std::int64_t rest = plan.part - s.loops * plan.chunk; rest > 0 || s.loops == 0) {
    s.tail_slices = 1;
    s.tail_slice = rest;
  }
  return s;
}

/// The weight of each part: its pages, rounded up, divided by their greatest common divisor.
// Weights of edges are integers. Parts are whole pages, except for the last one.
std::vector<std::uint32_t> weights_of_parts(const Plan& plan) {
  constexpr std::int64_t page = 4096;
  std::vector<std::uint32_t> weights;
  std::uint32_t common = 0;
  for (int p = 0; p < plan.parts; ++p) {
    weights.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(1, ceil_div(plan.part_bytes(p), page))));
    common = std::gcd(common, weights.back());
  }
  for (std::uint32_t& weight : weights) weight /= common;
  return weights;
}

double message_weight(const Plan& plan) {
  const std::vector<std::uint32_t> weights = weights_of_parts(plan);
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

/// All parts but the last are alike, so number, first and last weight determine the edges.
std::uint64_t edge_key(const Plan& plan) {
  const std::vector<std::uint32_t> weights = weights_of_parts(plan);
  return static_cast<std::uint64_t>(plan.parts) << 48 | std::uint64_t{weights.front()} << 24 | weights.back();
}

/// Edges of the messages between ranks. Each part is on its own channel, and each channel has its own queue pair
/// between two NICs [NCCL-net]. Messages between the same NICs on the same channel share it.
class PeerEdges {
 public:
  PeerEdges(const Communicator& comm, const Plan& plan, const EdgeSink& sink)
      : comm_(comm),
        plan_(plan),
        sink_(sink),
        schedule_(comm, static_cast<int>(plan.shares.size())),
        weights_(weights_of_parts(plan)) {
    for (const PeerRound& round : schedule_.rounds()) base_.try_emplace(round.group, &round);
  }
  /// \param messages  number of GPUs that send to this one by the same NIC
  void add(std::int64_t from, std::int64_t to, std::uint32_t messages) const {
    const int g = comm_.gpus(), a = static_cast<int>(from % g), b = static_cast<int>(to % g);
    NetworkEdge edge{static_cast<std::uint32_t>(from / g), static_cast<std::uint32_t>(to / g), nic(a, b), nic(b, b)};
    const std::int64_t groups = schedule_.groups();
    // All rounds of one group distance use the same channels [NCCL-p2p], so any of them gives the channels of the pair.
    const PeerRound& round = *base_.at((schedule_.group_of(to) - schedule_.group_of(from) + groups) % groups);
    for (int p = 0; p < plan_.parts; ++p) {
      edge.weight = messages * weights_[static_cast<std::size_t>(p)];
      edge.channel = schedule_.channel(round, p);
      sink_(edge);
    }
  }
  /// Adds all pairs of two groups. GPUs that send by the same NIC to the same GPU share a connection.
  void add_groups(std::int64_t from, std::int64_t to) const {
    const int size = schedule_.group_size(), g = comm_.gpus();
    for (std::int64_t b = to * size; b < (to + 1) * size; ++b) {
      std::map<std::uint16_t, std::pair<std::int64_t, std::uint32_t>> senders;  // by NIC: first sender, number
      for (std::int64_t a = from * size; a < (from + 1) * size; ++a)
        ++senders.try_emplace(nic(static_cast<int>(a % g), static_cast<int>(b % g)), a, 0U).first->second.second;
      for (const auto& [nic, sender] : senders) add(sender.first, b, sender.second);
    }
  }
  const PeerSchedule& schedule() const { return schedule_; }

 private:
  std::uint16_t nic(int from_gpu, int to_gpu) const {
    return static_cast<std::uint16_t>(sending_nic(comm_, from_gpu, to_gpu));
  }
  const Communicator& comm_;
  const Plan& plan_;
  const EdgeSink& sink_;
  PeerSchedule schedule_;
  std::vector<std::uint32_t> weights_;             ///< by part
  std::map<std::int64_t, const PeerRound*> base_;  ///< first round by group distance; rounds of one share channels
};

void network_edges(const Communicator& comm, const Plan& plan, int, const EdgeSink& sink) {
  if (comm.nodes() < 2) return;
  const PeerEdges edges(comm, plan, sink);
  const std::int64_t n = comm.ranks(), g = comm.gpus();
  switch (plan.op) {
    case CollectiveOp::sendrecv:
      for (std::int64_t r = 0; r < n; ++r)
        if (const std::int64_t to = (r + 1) % n; r / g != to / g && sends(plan, n, r, to)) edges.add(r, to, 1);
      return;
    case CollectiveOp::scatter:
      for (std::int64_t r = g; r < n; ++r) edges.add(0, r, 1);
      return;
    case CollectiveOp::gather:
      for (std::int64_t r = g; r < n; ++r) edges.add(r, 0, 1);
      return;
    default: break;
  }
  // An alltoall: all pairs of groups in different nodes. Groups of one node do not use the network.
  const std::int64_t groups = edges.schedule().groups(), per_node = g / edges.schedule().group_size();
  for (std::int64_t from = 0; from < groups; ++from)
    for (std::int64_t to = 0; to < groups; ++to)
      if (from / per_node != to / per_node) edges.add_groups(from, to);
}

// In an alltoall every pair of nodes has the same connections, so the counter lists those of one pair and repeats them.
// For a thousand nodes that is a million times fewer.
std::vector<NetworkEdge> edges_of_pair(const Communicator& comm, const Plan& plan) {
  std::vector<NetworkEdge> found;
  if (comm.nodes() < 2 || plan.op != CollectiveOp::alltoall) return found;
  const EdgeSink collect = [&](const NetworkEdge& edge) { found.push_back(edge); };
  const PeerEdges edges(comm, plan, collect);
  const std::int64_t per_node = comm.gpus() / edges.schedule().group_size();
  for (std::int64_t from = 0; from < per_node; ++from)
    for (std::int64_t to = 0; to < per_node; ++to) edges.add_groups(from, per_node + to);
  return found;
}

/// Only the node of the root differs from the others.
std::uint64_t node_role(const Communicator&, std::uint32_t node) { return node == 0 ? 0 : 1; }

void node_transfers(const Communicator& comm, const Plan& plan, int, std::uint32_t node,
                    std::vector<NodeTransfer>& out) {
  out.clear();
  const int g = comm.gpus();
  const std::int64_t n = comm.ranks(), first = std::int64_t{node} * g;
  for (int a = 0; a < g; ++a)
    for (int b = 0; b < g; ++b)
      if (a != b && sends(plan, n, first + a, first + b)) out.push_back({NodeTransfer::Kind::gpu_to_gpu, a, b});
  if (comm.nodes() == 1) return;
  const double others = static_cast<double>(comm.nodes() - 1);
  // For a GPU of this node and the GPUs of one number in other nodes: how many it sends to and receives from.
  for (int a = 0; a < g; ++a)
    for (int b = 0; b < g; ++b) {
      double out_of = 0, into = 0;
      switch (plan.op) {
        case CollectiveOp::alltoall: out_of = into = others; break;
        case CollectiveOp::sendrecv:
          out_of = a == g - 1 && b == 0 && (!plan.one_way || node == 0);
          into = a == 0 && b == g - 1 && (!plan.one_way || node > 0);
          break;
        case CollectiveOp::scatter:
          out_of = first + a == 0 ? others : 0;
          into = node > 0 && b == 0;
          break;
        default:
          out_of = node > 0 && b == 0;
          into = first + a == 0 ? others : 0;
          break;
      }
      if (out_of > 0) out.push_back({NodeTransfer::Kind::gpu_to_nic, a, sending_nic(comm, a, b), out_of});
      if (into > 0) out.push_back({NodeTransfer::Kind::nic_to_gpu, sending_nic(comm, a, a), a, into});
    }
}

/// Worker ((rank * 8) + place) * 2 sends and the next one receives. A place is one of the eight concurrent parts.
class PeerProgram final : public ChannelProgram {
 public:
  PeerProgram(const Communicator& comm, const Plan& plan, int channel)
      : comm_(comm), plan_(plan), schedule_(comm, plan.channels), places_(concurrent_parts) {
    // Parts go to the eight places in turn, in the order of the rounds.
    std::size_t place = 0;
    for (const PeerRound& round : schedule_.rounds())
      for (int part = 0; part < plan.parts; ++part)
        if (schedule_.channel(round, part) == channel) places_[place++ % places_.size()].push_back({&round, part});
  }

  std::int32_t workers() const override { return static_cast<std::int32_t>(comm_.ranks() * 2 * concurrent_parts); }
  Rank rank_of(std::int32_t worker) const override {
    return Rank(static_cast<std::uint32_t>(worker / (2 * concurrent_parts)));
  }
  std::int64_t steps(std::int32_t worker) const override {
    std::int64_t steps = 0;
    for (const Part& part : places_[place_of(worker)]) steps += takes_part(worker, part) ? chunks(part.index) : 0;
    return steps;
  }
  Step step(std::int32_t worker, std::int64_t index) const override {
    const std::vector<Part>& parts = places_[place_of(worker)];
    const std::size_t i = part_at(worker, index);
    const std::int64_t rank = rank_of(worker).value, n = comm_.ranks();
    const std::int64_t peer = peer_of(worker, *parts[i].round), from = is_sender(worker) ? rank : peer,
                       to = is_sender(worker) ? peer : rank;
    const std::int64_t begin = parts[i].index * plan_.part + index * plan_.chunk;
    const std::int64_t end = std::min(plan_.pair, (parts[i].index + 1) * plan_.part);
    Step step;
    step.ranges = {
        {(from * n + to) * plan_.pair + begin, std::max<std::int64_t>(0, std::min(plan_.chunk, end - begin))}};
    step.slice = static_cast<int>(index);
    step.own = is_sender(worker);
    step.result = !is_sender(worker) || peer == rank;
    // The peer handles the same part at the same place, because both go through the rounds in the same order.
    const auto other =
        static_cast<std::int32_t>((peer * concurrent_parts + static_cast<std::int64_t>(place_of(worker))) * 2);
    if (peer != rank) is_sender(worker) ? step.to.push_back(other + 1) : step.from.push_back(other);
    return step;
  }
  double sharers(std::int32_t worker, std::int64_t index) const override {
    // The parts of the same turn in all places of the rank share the channel's threads.
    const std::size_t turn = part_at(worker, index);
    int busy = 0;
    for (const std::vector<Part>& parts : places_) busy += parts.size() > turn && takes_part(worker, parts[turn]);
    return busy;
  }
  // A sender reads the caller's buffer and writes a slot; a receiver does the reverse. Only a copy inside a GPU touches
  // two buffers of the caller.
  bool aligned(std::int32_t worker, std::int64_t index) const override {
    const std::int64_t peer = peer_of(worker, *places_[place_of(worker)][part_at(worker, index)].round);
    const bool itself = peer == static_cast<std::int64_t>(rank_of(worker).value);
    if (is_sender(worker) && !is_aligned_send(plan_, peer)) return false;
    return (is_sender(worker) && !itself) || is_aligned_receive(plan_, peer);
  }
  std::array<int, 2> nics(std::int32_t from, std::int32_t to) const override {
    const int a = static_cast<int>(rank_of(from).value) % comm_.gpus(),
              b = static_cast<int>(rank_of(to).value) % comm_.gpus();
    return {sending_nic(comm_, a, b), sending_nic(comm_, b, b)};
  }

 private:
  struct Part {
    const PeerRound* round;
    int index;
  };
  static bool is_sender(std::int32_t worker) { return worker % 2 == 0; }
  static std::size_t place_of(std::int32_t worker) { return static_cast<std::size_t>(worker / 2 % concurrent_parts); }
  /// Number of the part, within its place, that a step of a worker belongs to. Reduces `index` to the chunk in the
  /// part.
  std::size_t part_at(std::int32_t worker, std::int64_t& index) const {
    const std::vector<Part>& parts = places_[place_of(worker)];
    for (std::size_t i = 0;; ++i) {
      const std::int64_t own = takes_part(worker, parts[i]) ? chunks(parts[i].index) : 0;
      if (index < own) return i;
      index -= own;
    }
  }
  std::int64_t peer_of(std::int32_t worker, const PeerRound& round) const {
    const std::int64_t rank = rank_of(worker).value;
    return is_sender(worker) ? schedule_.sends_to(round, rank) : schedule_.receives_from(round, rank);
  }
  bool takes_part(std::int32_t worker, const Part& part) const {
    const std::int64_t rank = rank_of(worker).value, peer = peer_of(worker, *part.round);
    if (peer == rank && !is_sender(worker)) return false;  // a copy inside a GPU is one step
    return is_sender(worker) ? sends(plan_, comm_.ranks(), rank, peer) : sends(plan_, comm_.ranks(), peer, rank);
  }
  std::int64_t chunks(int part) const {
    // An empty message still has one step, since its receiver waits for it.
    return std::max<std::int64_t>(part == 0 ? 1 : 0, ceil_div(plan_.part_bytes(part), plan_.chunk));
  }

  const Communicator& comm_;
  const Plan& plan_;
  PeerSchedule schedule_;
  std::vector<std::vector<Part>> places_;
};

std::unique_ptr<ChannelProgram> program(const Communicator& comm, const Plan& plan, int channel) {
  return std::make_unique<PeerProgram>(comm, plan, channel);
}

/// B; libfabric's Slingshot provider copies messages up to this size [cxi-inject].
constexpr std::int64_t small_message = 192;

void adjust_network_costs(const Network& network, const Plan& plan, ProtocolCosts& c) {
  // Next to a NIC, slices are announced by flags over PCIe.
  c.network_slice = network.nic_slice.us();
  c.peer = network.peer.us();
  if (plan.pair <= small_message) c.peer += network.peer_small.us();
  // A visit handles one chunk that is sent and one that is received.
  c.message = network.peer_chunk.us();
  c.visits = c.sends = 1;
  c.thread = 2 * c.thread;
  c.copies_at_nic = plan.registered ? 0 : 1;
}

void adjust_costs(const Communicator& comm, const Plan& plan, ProtocolCosts& c) {
  c.cut_through = false;
  // LL shifts unaligned data into place after loading; Simple copies them byte by byte [NCCL-device].
  if (plan.protocol != Protocol::ll) c.unaligned = c.copy_rate / comm.node.architecture.rate_unaligned.gbps();
  // Senders store directly into the receiver's buffer.
  if (plan.registered) c.last_receive = 0;
  if (comm.nodes() > 1) adjust_network_costs(comm.node.network, plan, c);
}

constexpr std::array<std::string_view, 2> own_parameters = {".peer", ".rate_unaligned"};

}  // namespace

CollectiveAlgorithm p2p_algorithm() {
  return {.algorithm = Algorithm::p2p,
          .name = "p2p",
          .summary = "sends and receives between pairs of ranks, in rounds",
          .source = "[NCCL-p2p]",
          .one_stream = true,
          .in_pairs = true,
          .own_parameters = own_parameters,
          .supports = supports,
          .stream = stream,
          .network_edges = network_edges,
          .edges_of_pair = edges_of_pair,
          .message_weight = message_weight,
          .edge_key = edge_key,
          .node_role = node_role,
          .node_transfers = node_transfers,
          .program = program,
          .adjust_costs = adjust_costs};
}

}  // namespace fabricast
