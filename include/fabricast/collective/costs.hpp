// The costs of the stations that a slice of one call passes: what lies between a schedule and its time.
//
// protocol/costs.hpp describes the stations and computes these numbers from the hardware parameters of the node. Each
// algorithm may then adjust them (CollectiveAlgorithm::adjust_costs). docs/models/protocols.md gives the equations.
//
// Sizes and rates are of payload unless "on the wire" is stated. A size in bytes may be an average, and then a
// fraction. Factors are dimensionless. Defaults describe costs that do not exist, so an algorithm only sets what it
// has.
//
// Not here: the rates of links, and how calls and channels share them (sim/engine).
//
// A plain value; const members are safe to call concurrently.
#pragma once

#include <algorithm>

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

/// The costs of one call.
struct ProtocolCosts {
  double wire = 1;  ///< bytes on the wire per payload byte: 2 for LL, 16/15 for LL128
  Seconds slice;    ///< overhead of a slice at a GPU
  /// Inside a node a GPU forwards line by line as data arrive, so a chunk's transfer is paid once and not per hop.
  bool cut_through = false;
  Seconds burst;             ///< rings in LL: added to the overhead as a step grows to `burst_bytes`
  BytesPerSecond copy_rate;  ///< that the threads of one channel move
  /// Trees and chains: their rate while they go up and down at once, relative to one direction.
  double both_directions = 2;
  double up = 1, down = 1;  ///< trees: fractions of a block's threads that go up and down, if neither helps the other
  double down_alone = 1;    ///< trees: as `down`, or its equivalent if all data that come down end there
  double copies = 1;        ///< bytes copied per byte of a slice: with NVLS a GPU copies the chunks of all heads
  bool in_place = false;    ///< NVLS: heads work on registered buffers, so nothing is copied in or out
  double unaligned = 1;     ///< sends and receives: copy time of data that do not start at a multiple of 16 B, relative
  double copies_at_nic = 1;  ///< sends and receives: copies next to a NIC; 0 if it reads the caller's buffer
  double last_receive = 1;   ///< cost of a step that only receives, relative to one that sends as well
  Seconds hop_inside;        ///< latency between GPUs of a node
  Seconds hop_network;       ///< latency over the network, without that of the fabric
  Seconds message;           ///< a visit of the proxy thread to one message
  SecondsPerByte thread;     ///< on the wire; the proxy thread's share of moving it (sockets)
  double visits = 0;         ///< visits of the busiest proxy thread while each of its channels moves one slice
  double sends = 1;          ///< sends among these visits
  SecondsPerByte check;      ///< LL only: flags that the proxy thread checks before it sends
  Seconds rendezvous;        ///< added to `hop_network` for messages above `rendezvous_bytes`
  Bytes rendezvous_bytes;    ///< on the wire; 0: no threshold
  double tree_weight = 1;    ///< SHARP: link capacity that a reducing tree takes per byte
  double fan = 0;            ///< NVLSTree: slowdown of a node's copies by a parent and two children, relative
  Seconds network_slice;     ///< added to the overhead of a slice next to a NIC
  Seconds peer;              ///< sends and receives: proxy thread, once per part
  Seconds launch;            ///< once per call

  static constexpr double burst_bytes = 256;

  /// The highest rate at which threads move the data of a connection: for sends and receives that of all parts of a
  /// pair, which go over several channels at once; with NVLS that of one head's chunks.
  BytesPerSecond most_rate(const Plan& plan) const { return copy_rate * plan.parts / copies; }
  /// The same while data go up and down a tree at once.
  BytesPerSecond steady_rate(const Plan& plan) const {
    return most_rate(plan) * std::min({both_directions / 2, up, down_alone});
  }
  /// NVLSTree: factor by which a node's copies take longer. \param connections  nodes that its heads communicate with
  double fan_out(int connections) const { return 1 + fan * connections / 3; }
  /// Overhead of a slice of `bytes` at a GPU.
  Seconds gpu_overhead(double bytes) const { return slice + burst * (bytes < burst_bytes ? bytes / burst_bytes : 1.0); }
  /// A proxy thread's time per message of `bytes` that it sends: its visits, distributed over its sends, and flags.
  Seconds proxy(double bytes) const { return visits / sends * (message + wire * thread * bytes) + check * bytes; }
  /// The same for all messages that it sends while each channel moves one slice.
  Seconds proxy_round(double bytes) const { return sends * proxy(bytes); }
  /// Latency of a message of `bytes` over the network, without that of the fabric.
  Seconds network_latency(double bytes) const {
    const bool waits = rendezvous_bytes > Bytes{} && bytes * wire > fractional(rendezvous_bytes);
    return waits ? hop_network + rendezvous : hop_network;
  }
};

}  // namespace fabricast
