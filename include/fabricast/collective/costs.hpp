// What stands between a schedule and its time: the costs of one call's stations (protocol/costs.hpp).
#pragma once

#include <algorithm>

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

struct ProtocolCosts {
  double wire = 1;   ///< bytes on a link per payload byte: 2 for LL, 16/15 for LL128
  double slice = 0;  ///< s; overhead of a slice at a GPU
  /// Inside a node lines are handed on one by one: a chunk's transfer is paid once, not per hop.
  bool cut_through = false;
  double burst = 0;          ///< s; LL only: added as a step grows to `burst_bytes`
  double copy_rate = 0;      ///< B/s of payload that one channel's threads handle
  double both_directions = 2;      ///< trees and chains: by how much that rate grows where the threads go up and down at once
  double up = 1, down = 1;   ///< trees: the parts of a block's threads that go up and down, where none helps the other
  double down_alone = 1;     ///< the same part, or what it amounts to where nobody below hands on
  double copies = 1;         ///< bytes that they handle for each byte of a slice: NVLS copies the chunks of all heads
  bool in_place = false;     ///< NVLS: none of them is copied in and out
  double unaligned = 1;      ///< sends and receives: how much longer a copy takes whose data begins off 16 B
  double copies_at_nic = 1;  ///< sends and receives: the same next to a NIC, 0 where it reads the caller's buffer
  double last_receive = 1;   ///< cost of a receive-only step relative to one that sends too
  double hop_inside = 0;     ///< s; latency between GPUs of a node
  double hop_network = 0;    ///< s; latency over the network, fabric excluded
  double message = 0;        ///< s; proxy thread's visit of one message
  double thread = 0;         ///< s per byte on the wire; proxy thread's part in moving it
  double visits = 0;         ///< visits of the busiest proxy thread while each of its channels moves one slice
  double sends = 1;          ///< sends among them
  double check = 0;          ///< s per byte; LL only: flags that a proxy thread checks before it sends
  double rendezvous = 0;     ///< s; added to hop_network for messages above `rendezvous_bytes`
  double rendezvous_bytes = 0;
  double tree_weight = 1;    ///< SHARP: of a link's rate, what a reducing tree takes for each byte
  double fan = 0;            ///< NVLSTree: what a parent and two children slow a node's copies by
  double network_slice = 0;  ///< s; added to `slice` next to a NIC
  double peer = 0;           ///< s; sends and receives: proxy thread, once per part
  double launch = 0;         ///< s; fixed, once per call

  static constexpr double burst_bytes = 256;

  /// B/s of a slice that the threads of a channel move: of all parts of a pair of ranks, of one head's chunks.
  double most_rate(const Plan& plan) const { return copy_rate * plan.parts / copies; }
  /// The same while data go both ways.
  double steady_rate(const Plan& plan) const { return most_rate(plan) * std::min({both_directions / 2, up, down_alone}); }
  /// How much slower a node's copies are with so many nodes that its heads send to or receive from.
  double fan_out(int connections) const { return 1 + fan * connections / 3; }
  /// Overhead of a slice of `bytes` at a GPU.
  double gpu_overhead(double bytes) const { return slice + burst * (bytes < burst_bytes ? bytes / burst_bytes : 1.0); }
  /// A proxy thread's time for one message of `bytes`: its share of the visits, and the flags.
  double proxy(double bytes) const { return visits / sends * (message + thread * wire * bytes) + check * bytes; }
  /// The same for all messages it sends while each channel moves one slice.
  double proxy_round(double bytes) const { return sends * proxy(bytes); }
  double network_latency(double bytes) const {
    return hop_network + (rendezvous_bytes > 0 && bytes * wire > rendezvous_bytes ? rendezvous : 0);
  }
};

}  // namespace fabricast
