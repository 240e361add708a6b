// Counts the connections of rings and trees and their buffers; the equation is in the header.
#include "fabricast/planner/buffer_memory.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "fabricast/collective/double_tree.hpp"

namespace fabricast {

BufferSizes buffer_sizes(const NcclSettings& settings) {
  // Threads x lines (or elements) per thread x slots x bytes of one: 512 x 8 x 8 x 16 and 640 x 120 x 8 x 8.
  constexpr Bytes ll{std::int64_t{512} * 8 * 8 * 16}, ll128{std::int64_t{640} * 120 * 8 * 8}, simple{4 << 20};
  return {settings.ll_buffer_size.value_or(ll), settings.ll128_buffer_size.value_or(ll128),
          settings.buffer_size.value_or(simple)};
}

namespace {

/// The peers of a rank in one channel, as numbers of ranks.
struct ChannelPeers {
  std::set<std::int64_t> received, network_received, network_sent;
};

void add_ring(const Communicator& comm, int channel, std::int64_t node, int gpu, ChannelPeers& peers) {
  const std::vector<int>& chain = comm.ring_shape(channel).gpus;
  const std::int64_t g = comm.gpus(), n = comm.nodes(), before = (node + n - 1) % n, after = (node + 1) % n;
  const auto at = std::find(chain.begin(), chain.end(), gpu);
  if (at == chain.end()) return;
  if (at != chain.begin())
    peers.received.insert(node * g + *(at - 1));
  else if (n == 1)
    peers.received.insert(node * g + chain.back());
  else
    peers.network_received.insert(before * g + chain.back());
  if (at + 1 == chain.end() && n > 1) peers.network_sent.insert(after * g + chain.front());
}

void add_tree(const Communicator& comm, int channel, std::int64_t node, int gpu, ChannelPeers& peers) {
  const std::vector<int>& chain = comm.tree_shape(channel).gpus;
  const std::int64_t g = comm.gpus();
  const auto at = std::find(chain.begin(), chain.end(), gpu);
  if (at == chain.end()) return;
  // Data goes up and down, so neighbours both send and receive.
  if (at != chain.begin()) peers.received.insert(node * g + *(at - 1));
  if (at + 1 != chain.end()) peers.received.insert(node * g + *(at + 1));
  if (comm.nodes() == 1) return;
  const auto meets = [&](std::int64_t rank) {
    peers.network_received.insert(rank);
    peers.network_sent.insert(rank);
  };
  const auto gpu_of = [&](int type) {
    return chain[static_cast<std::size_t>(child_position(comm.tree_pattern, static_cast<int>(chain.size()), type))];
  };
  const TreePlace place = double_tree(comm.nodes(), node, comm.tree_index(channel));
  if (at == chain.begin() && place.parent >= 0) meets(place.parent * g + gpu_of(place.child_type));
  for (int type = 0; type < 2; ++type)
    if (const std::int64_t child = place.children[static_cast<std::size_t>(type)]; child >= 0 && gpu_of(type) == gpu)
      meets(child * g + chain.front());
}

}  // namespace

BufferedConnections buffered_connections(const Communicator& comm, std::int64_t rank) {
  const std::int64_t node = rank / comm.gpus();
  const int gpu = static_cast<int>(rank % comm.gpus());
  BufferedConnections all;
  for (int c = 0; c < comm.channels && comm.ranks() > 1; ++c) {
    ChannelPeers peers;
    if (!comm.rings.empty()) add_ring(comm, c, node, gpu, peers);
    if (!comm.trees.empty()) add_tree(comm, c, node, gpu, peers);
    all.received += static_cast<int>(peers.received.size());
    all.network_received += static_cast<int>(peers.network_received.size());
    all.network_sent += static_cast<int>(peers.network_sent.size());
  }
  return all;
}

BufferMemory buffer_memory(const BufferedConnections& connections, const BufferSizes& sizes, bool gdr) {
  BufferMemory memory;
  const Bytes sent = sizes.ll * connections.network_sent;
  const Bytes network = sizes.all() * (connections.network_received + connections.network_sent) - sent;
  memory.gpu = sizes.all() * connections.received + (gdr ? network : Bytes{});
  memory.host = sent + (gdr ? Bytes{} : network);
  return memory;
}

}  // namespace fabricast
