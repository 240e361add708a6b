// Schedules: what is sent, in two views of one object.
//
// NCCL runs a collective as channels. On a channel every rank has one or two *workers* (a tree has one that reduces
// upwards and one that broadcasts downwards); a worker does its steps in order, and neighbours stream slices to each
// other through a few slots.
//
// Transfer view (ChannelProgram): the steps of every worker, computed when asked for and never stored. It is executed
// slice by slice by the chunk engine, and symbolically by the proof that every rank ends with every contribution
// exactly once (prove.hpp).
//
// Stream view (Stream): the same channel as persistent edges: how many loops, steps and slices of which size, and
// which way to time them. Its size does not depend on the number of slices; symmetric nodes are folded. It is what
// the flow engine times.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "fabricast/collective/communicator.hpp"
#include "fabricast/core/id.hpp"

namespace fabricast {

/// Bytes [begin, begin + size) of the buffer that the operation counts.
struct ByteRange {
  std::int64_t begin = 0, size = 0;
};

/// One step of a worker: receive from `from` (all of them), combine with what its rank has, send to `to` (each of
/// them).
struct Step {
  std::vector<ByteRange> ranges;   ///< of one message; mostly one
  std::vector<std::int32_t> from;  ///< workers
  std::vector<std::int32_t> to;
  bool own = false;     ///< the rank's own contribution takes part
  bool kept = false;    ///< what the rank kept of these ranges takes part
  bool keep = false;    ///< what it then holds is kept, to be taken up later
  bool result = false;  ///< what it then holds is the final value of the ranges: it is kept
  /// The NVSwitch of its node reduces what comes from workers of the node, and hands it out to all of them, while the
  /// step runs.
  bool in_nvswitch = false;
  /// The switches of a tree add up what comes, and hand it out, while the step runs; it is no rank's.
  const AggregationTree* in_switches = nullptr;
  bool waits = false;  ///< for flags of its own rank only: it takes no time
  bool split = false;  ///< one range for each of `to`, or of `from` where there is no `to`; else all get all
  int slice = 0;       ///< which slice of its chunk

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const ByteRange& r : ranges) sum += std::max<std::int64_t>(0, r.size);
    return sum;
  }
};

/// Transfer view of one channel. Messages between two workers arrive in the order they were sent.
class ChannelProgram {
 public:
  virtual ~ChannelProgram() = default;
  virtual std::int32_t workers() const = 0;
  virtual Rank rank_of(std::int32_t worker) const = 0;
  virtual std::int64_t steps(std::int32_t worker) const = 0;
  virtual Step step(std::int32_t worker, std::int64_t index) const = 0;
  /// Whether a message between two workers of a node is a flag only: its data crosses no link, or in a step
  /// `in_nvswitch`.
  virtual bool is_flag(std::int32_t, std::int32_t) const { return false; }
  /// How many such workers a channel's threads have to serve: what this one is slower.
  virtual double sharers(std::int32_t, std::int64_t) const { return 1; }
  /// NVLSTree: nodes that the heads of this worker's node send to or receive from.
  virtual int nodes_beside(std::int32_t) const { return 0; }
  /// Whether the caller's data of a step begins at a multiple of 16 B: if not, it is copied byte by byte.
  virtual bool aligned(std::int32_t, std::int64_t) const { return true; }
  /// NICs by which a message leaves its node and enters the other; -1: the channel has one connection between the
  /// nodes.
  virtual std::array<int, 2> nics(std::int32_t, std::int32_t) const { return {-1, -1}; }
};

/// s; of a call without slices: what it takes where nothing else uses its links.
struct AloneTime {
  double before = 0;  ///< until its first byte moves
  double least = 0;   ///< after that, however fast the links are
  double empty = 0;   ///< of an empty buffer, all told
};

/// Stream view of one channel.
struct Stream {
  std::string_view timing;  ///< how its steps depend on each other: a name in sim/engine/time/timings.inc
  std::int64_t loops = 0;   ///< whole loops over the chunk
  std::int64_t sends = 1;   ///< sending steps of a rank per loop; on a ring a receive-only one follows
  int slices = 1;           ///< slices of a step in a whole loop
  std::int64_t slice = 0;   ///< their payload
  int tail_slices = 0;      ///< of the last, shorter loop; 0: there is none
  std::int64_t tail_slice = 0;
  int slots = 8;
  int start = 0;    ///< of a chain: position in its node of the first rank
  AloneTime alone;  ///< of timing `whole`
};

/// A connection over the network, by NCCL node of the job and NIC.
struct NetworkEdge {
  static constexpr std::int32_t own_channel = -1;
  std::uint32_t from = 0, to = 0;  ///< nodes of the job
  std::uint16_t from_nic = 0, to_nic = 0;
  std::uint32_t weight = 1;  ///< messages on it for each that other edges of the channel carry
  /// Whose queue pair it is, where one stream stands for all channels: sends and receives.
  std::int32_t channel = own_channel;
  std::uint32_t channel_or(std::uint32_t asked) const {
    return channel == own_channel ? asked : static_cast<std::uint32_t>(channel);
  }
  bool operator==(const NetworkEdge&) const = default;
};
using EdgeSink = std::function<void(const NetworkEdge&)>;
using TreeSink = std::function<void(const AggregationTree&)>;

/// Transfers inside one node on one channel; all nodes of a role are alike. `-1` for a GPU or NIC: not involved.
struct NodeTransfer {
  enum class Kind : std::uint8_t {
    gpu_to_gpu,
    gpu_to_nic,
    nic_to_gpu,
    reduce,    ///< of all GPUs by the NVSwitch, to one
    multicast  ///< from one GPU by the NVSwitch, to all
  } kind = Kind::gpu_to_gpu;
  int from = 0, to = 0;
  double weight = 1;  ///< messages of it for each that other transfers of the channel carry
};

/// The slices of a chunk: how many are not empty, and the payload of one.
struct SliceSize {
  int count = 1;
  std::int64_t size = 0;
};
SliceSize slice_chunk(const Plan& plan, std::int64_t chunk);

/// What bounds chunks: bytes of a slot in Simple, and the largest chunks that the user allows.
struct ChunkLimits {
  std::int64_t simple_slot = 0;
  std::optional<std::int64_t> nvls, nvlstree;
};
/// Payload of the channel that has most.
std::int64_t largest_share(const Plan& plan);
/// A chunk that is no longer than one of `parts` parts of the largest share.
std::int64_t within_share(std::int64_t chunk, const Plan& plan, std::int64_t parts = 1);
/// Halves a chunk, though not below `least`, while the largest share has fewer than so many of it.
std::int64_t halved(std::int64_t chunk, const Plan& plan, std::int64_t count, std::int64_t least);

/// Loops over a share when one loop moves `parts` chunks: whole loops, and the chunk of a last shorter one (0: none).
struct Loops {
  std::int64_t whole = 0;
  std::int64_t tail_chunk = 0;
};
Loops cut_loops(const Plan& plan, std::int64_t share, std::int64_t parts);

/// A channel's share in loops of `parts` chunks that are handed on whole.
Stream chunk_stream(const Plan& plan, int channel, std::string_view timing, std::int64_t parts = 1);

/// A GPU sends to and receives from a NIC.
void add_both_directions(std::vector<NodeTransfer>& transfers, int gpu, int nic, double weight = 1);
/// Every GPU of a node sends to every other.
void add_all_pairs(std::vector<NodeTransfer>& transfers, int gpus, double weight);
/// Neighbours in a chain of GPUs send to each other.
void add_chain(std::vector<NodeTransfer>& transfers, const std::vector<int>& gpus);

}  // namespace fabricast
