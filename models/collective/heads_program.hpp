// Collectives by heads: a share is cut into a chunk for each head of a node; GPUs hand their data to the heads, heads
// add it up, over nodes as well, and hand the results back. NVLS, NVLSTree and CollNetDirect differ in what joins GPUs
// and heads, and in what joins the heads of different nodes.
#pragma once

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

struct Heads {
  std::vector<int> gpus;
  bool nvswitch = true;  ///< it reduces and multicasts; else heads do, and data goes to and from them one by one
  bool sharp = false;    ///< the fabric's switches join the nodes; else a double tree
};

Stream heads_stream(const Plan& plan, int channel, std::size_t heads, std::string_view timing);

/// Below so many loops a share takes no longer chunks than this.
struct HeadsLimit {
  std::int64_t loops, chunk;
};
/// Shorter chunks for shorter shares, so that the stages overlap. \param longest  chunk
void cut_for_heads(const Communicator& comm, const ChunkLimits& limits, std::int64_t longest,
                   std::span<const HeadsLimit> shorter, Plan& plan);

/// The trees in the fabric's switches, one for each NIC: `network_trees` of the algorithms that use SHARP.
void head_trees(const Communicator& comm, const Plan& plan, int channel, const TreeSink& sink);

/// Of heads that reduce and hand out in the NVSwitch.
void nvswitch_costs(const Communicator& comm, const Plan& plan, ProtocolCosts& costs);

/// Workers of rank r: 4r copies in, 4r + 1 is the head on the way up (and down, at the root), 4r + 2 the head on the
/// way down, 4r + 3 copies out.
std::unique_ptr<ChannelProgram> heads_program(const Communicator& comm, const Plan& plan, int channel,
                                              const Heads& heads);

}  // namespace fabricast
