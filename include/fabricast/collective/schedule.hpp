// Schedules: what is sent, in two views of the same channel.
//
// NCCL runs a collective as channels. On a channel every rank has one or more *workers*; a tree has one that reduces
// upwards and one that broadcasts downwards. A worker executes its steps in order. Neighbours stream slices to each
// other through a few slots.
//
// Transfer view (ChannelProgram): the steps of every worker, computed on request and not stored as a list. The chunk
// engine executes it slice by slice. The proof that every rank ends with every contribution exactly once executes it on
// symbols (prove.hpp).
//
// Stream view (Stream): the same channel as persistent connections: how many loops, steps and slices of which size, and
// by which timing. Its size does not depend on the number of slices, and symmetric nodes are folded. The flow engine
// times it.
//
// Beside these stand the network connections (NetworkEdge) and the transfers inside the nodes (NodeTransfer) of a
// channel, without sizes or order, for counting what shares a link.
//
// Sizes are bytes of payload. Workers, ranks, nodes, GPUs and NICs are numbered from 0.
//
// Pure functions and plain values; safe to call concurrently.
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

/// Bytes [begin, begin + size) of the buffer whose size is the size of the call.
struct ByteRange {
  std::int64_t begin = 0, size = 0;
};

/// One step of a worker: it receives from all of `from`, combines the data with what its rank has, and sends the sum to
/// each of `to`.
struct Step {
  std::vector<ByteRange> ranges;   ///< of one message; usually a single one
  std::vector<std::int32_t> from;  ///< workers
  std::vector<std::int32_t> to;    ///< workers
  bool own = false;                ///< the rank's own contribution is added
  bool kept = false;               ///< what the rank has kept of these ranges is added
  bool keep = false;               ///< the sum is kept for a later step
  bool result = false;             ///< the sum is the final value of the ranges on this rank
  /// While the step runs, the NVSwitch of the node reduces the data of the node's workers, or multicasts to them.
  bool in_nvswitch = false;
  /// While the step runs, the switches of this tree reduce and multicast. Such a step belongs to no rank. Null: none.
  const AggregationTree* in_switches = nullptr;
  bool waits = false;  ///< the step only waits for flags inside its node; it takes no time
  bool split = false;  ///< each of `to`, or of `from` if there is no `to`, has a range of its own; else all have all
  int slice = 0;       ///< number of the slice in its chunk

  /// B of all ranges.
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const ByteRange& r : ranges) sum += std::max<std::int64_t>(0, r.size);
    return sum;
  }
};

/// Transfer view of one channel. Messages between two workers arrive in the order in which they were sent.
class ChannelProgram {
 public:
  virtual ~ChannelProgram() = default;
  /// Number of workers of all ranks.
  virtual std::int32_t workers() const = 0;
  /// The rank of a worker. Workers of trees in the switches have no rank of their own; they report rank 0.
  virtual Rank rank_of(std::int32_t worker) const = 0;
  /// Number of steps of a worker.
  virtual std::int64_t steps(std::int32_t worker) const = 0;
  /// A step of a worker. \pre 0 <= index < steps(worker)
  virtual Step step(std::int32_t worker, std::int64_t index) const = 0;
  /// Whether a message from one worker to another of its node is only a flag: its data cross no link, or they cross it
  /// in a step `in_nvswitch`.
  virtual bool is_flag(std::int32_t, std::int32_t) const { return false; }
  /// Factor by which a step's copies are slower, because the channel's threads serve several workers.
  virtual double sharers(std::int32_t, std::int64_t) const { return 1; }
  /// NVLSTree: number of nodes that the heads of this worker's node communicate with.
  virtual int nodes_beside(std::int32_t) const { return 0; }
  /// Whether the caller's data of a step start at a multiple of 16 B. If not, they are copied byte by byte.
  virtual bool aligned(std::int32_t, std::int64_t) const { return true; }
  /// The NICs by which a message leaves its node and enters the other one; -1: any, since the channel has only one
  /// connection between the nodes.
  virtual std::array<int, 2> nics(std::int32_t, std::int32_t) const { return {-1, -1}; }
};

/// The times of a call without slices, in s.
struct AloneTime {
  double before = 0;  ///< until the first byte moves
  double least = 0;   ///< from then on, however fast the links are
  double empty = 0;   ///< the total for an empty buffer
};

/// Stream view of one channel.
struct Stream {
  std::string_view timing;      ///< how its steps depend on each other: a name in sim/engine/time/timings.inc
  std::int64_t loops = 0;       ///< whole loops over the chunk
  std::int64_t sends = 1;       ///< sending steps of a rank per loop; on a ring a step that only receives follows
  int slices = 1;               ///< slices of a step in a whole loop
  std::int64_t slice = 0;       ///< B of a slice
  int tail_slices = 0;          ///< slices of a step in the last, shorter loop; 0: there is none
  std::int64_t tail_slice = 0;  ///< B of a slice there
  int slots = 8;                ///< limit on slices in flight between two ranks
  int start = 0;                ///< timing `chain`: position of the first rank in its node
  AloneTime alone;              ///< timing `whole`
};

/// A connection over the network between NICs of two nodes.
struct NetworkEdge {
  static constexpr std::int32_t own_channel = -1;
  std::uint32_t from = 0, to = 0;          ///< NCCL nodes of the job
  std::uint16_t from_nic = 0, to_nic = 0;  ///< numbers in their nodes
  std::uint32_t weight = 1;                ///< messages on it, relative to other edges of the channel
  /// The channel whose queue pair it uses. Set by sends and receives, where one stream stands for all channels.
  std::int32_t channel = own_channel;
  /// `channel`, or the given one if it is not set.
  std::uint32_t channel_or(std::uint32_t asked) const {
    return channel == own_channel ? asked : static_cast<std::uint32_t>(channel);
  }
  bool operator==(const NetworkEdge&) const = default;
};
/// What receives edges, or trees of switches, one by one, so that no list of a large job is kept.
using EdgeSink = std::function<void(const NetworkEdge&)>;
using TreeSink = std::function<void(const AggregationTree&)>;

/// A transfer inside one node on one channel. All nodes of a role have the same.
struct NodeTransfer {
  enum class Kind : std::uint8_t {
    gpu_to_gpu,
    gpu_to_nic,
    nic_to_gpu,
    reduce,    ///< the NVSwitch reduces data of all GPUs; `to` is the GPU that gets the sum, `from` is -1
    multicast  ///< the NVSwitch sends data of `from` to all GPUs; `to` is -1
  } kind = Kind::gpu_to_gpu;
  int from = 0, to = 0;  ///< numbers of GPUs or NICs in the node
  double weight = 1;     ///< messages, relative to other transfers of the channel
};

/// The slices of a chunk.
struct SliceSize {
  int count = 1;          ///< those that are not empty, at least 1
  std::int64_t size = 0;  ///< B of a slice; the last one may be shorter
};
/// How NCCL cuts a chunk into slices: at most `slices_per_chunk`, and none shorter than `least_slice` unless the chunk
/// itself is.
SliceSize slice_chunk(const Plan& plan, std::int64_t chunk);

/// Limits on the sizes of chunks, B.
struct ChunkLimits {
  std::int64_t simple_slot = 0;                ///< size of a slot in Simple
  std::optional<std::int64_t> nvls, nvlstree;  ///< the largest chunks that the user allows
};
/// B; the share of the channel that has the largest one.
std::int64_t largest_share(const Plan& plan);
/// B; the chunk, limited to one of `parts` equal parts of the largest share, rounded up to 16 B.
std::int64_t within_share(std::int64_t chunk, const Plan& plan, std::int64_t parts = 1);
/// B; the chunk, halved while the largest share has fewer than `count` of it and it is longer than `least`.
std::int64_t halved(std::int64_t chunk, const Plan& plan, std::int64_t count, std::int64_t least);

/// Loops over a share in which one loop moves a number of chunks.
struct Loops {
  std::int64_t whole = 0;       ///< loops with chunks of full size
  std::int64_t tail_chunk = 0;  ///< B; chunk of a last, shorter loop; 0: there is none
};
/// Cuts a share into loops of `parts` chunks. An empty share has one loop, of 1 B, since an empty call still runs.
Loops cut_loops(const Plan& plan, std::int64_t share, std::int64_t parts);

/// Stream view of a channel whose loops move `parts` chunks, each sent as one slice.
Stream chunk_stream(const Plan& plan, int channel, std::string_view timing, std::int64_t parts = 1);

/// Adds that a GPU sends to a NIC and receives from it.
void add_both_directions(std::vector<NodeTransfer>& transfers, int gpu, int nic, double weight = 1);
/// Adds that every GPU of a node sends to every other one.
void add_all_pairs(std::vector<NodeTransfer>& transfers, int gpus, double weight);
/// Adds that neighbours in a chain of GPUs send to each other, in both directions.
void add_chain(std::vector<NodeTransfer>& transfers, const std::vector<int>& gpus);

}  // namespace fabricast
