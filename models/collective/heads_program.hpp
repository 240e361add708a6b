// Collectives with heads. A share is cut into one chunk for each head, a GPU of every node. GPUs give their data to the
// heads, the heads reduce it, over nodes as well, and return the results. NVLS, NVLSTree and CollNetDirect differ in
// what connects GPUs with heads, and in what connects the heads of different nodes.
#pragma once

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

struct Heads {
  std::vector<int> gpus;
  bool nvswitch = true;  ///< the NVSwitch reduces and multicasts; else each GPU sends to and receives from each head
  bool sharp = false;    ///< the fabric's switches connect the nodes; else a double tree does
};

/// Stream view of a channel.
Stream heads_stream(const Plan& plan, int channel, std::size_t heads, std::string_view timing);

/// If a share has fewer than `loops` loops, its chunks have at most `chunk` bytes.
struct HeadsLimit {
  std::int64_t loops, chunk;
};
/// Sets the chunk of a plan: shorter for shorter shares, so that the stages overlap. \param longest  chunk, B
void cut_for_heads(const Communicator& comm, const ChunkLimits& limits, std::int64_t longest,
                   std::span<const HeadsLimit> shorter, Plan& plan);

/// The trees in the fabric's switches, one for each NIC: `network_trees` of the algorithms that use SHARP.
void head_trees(const Communicator& comm, const Plan& plan, int channel, const TreeSink& sink);

/// Adjusts the costs for heads that reduce and multicast in the NVSwitch.
void nvswitch_costs(const Communicator& comm, const Plan& plan, ProtocolCosts& costs);

/// Transfer view of a channel. Workers of rank r: 4r copies in; 4r + 1 is the head on the way up, at the root also on
/// the way down; 4r + 2 is the head on the way down; 4r + 3 copies out.
std::unique_ptr<ChannelProgram> heads_program(const Communicator& comm, const Plan& plan, int channel,
                                              const Heads& heads);

}  // namespace fabricast
