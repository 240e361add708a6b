// Logs that people already have, as plain values.
//
// Read are, in any mixture and in one stream: nccl-tests (text and its JSON file), perftest, OSU micro-benchmarks,
// our own probe, CSV with a header line (bytes,time_us), CUDA's p2pBandwidthLatencyTest, `nvidia-smi topo -m`, what NCCL prints with NCCL_DEBUG=INFO, and NCCL's topology XML.
// Lines may end in CRLF, be coloured, and carry the prefix of a launcher (`[1,0]<stdout>:`, `pod-0: `, `3: `).
//
// Nothing is guessed: a value that a log does not tell stays empty, and a line of a known format that can not be read,
// or that contradicts itself by more than the rounding of its numbers, is a Problem and gives no value. Text of no
// known format is passed over in silence.
//
// Memory is that of the result and a constant: lines are cut at 64 KiB but in JSON, an XML document is
// held up to 4 MiB.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabricast/hardware/layout.hpp"

namespace fabricast {

struct LogRow {
  int line = 0;
  std::int64_t bytes = 0;
  double time_us = 0;  ///< out of place; where a log has only in place, that
  std::optional<double> in_place_us;
  std::int64_t wrong = 0;                      ///< results that the tool counted as wrong, both places together
  std::optional<double> gigabytes_per_second;  ///< where the tool measures a rate; time_us is then bytes over rate
};

/// One sweep over sizes. Where a tool prints several types, operators or roots in one run, each is a table.
struct LogTable {
  std::string tool;  ///< nccl_tests, osu, perftest, probe, csv
  std::string
      operation;  ///< of nccl-tests and the probe our words: all_reduce ...; else the test's name; empty: not told
  int line = 0;   ///< of its header, or of its first row
  int ranks = 0;  ///< 0: not told
  int nodes = 0;  ///< hosts of the ranks; 0: not told
  std::vector<std::string> hosts;  ///< their names, in order; empty: not told
  int ranks_per_process = 0;       ///< nccl-tests: -g x -t; 0: not told
  int threads = 0;                 ///< nccl-tests: -t; 0: not told
  std::string nccl_version;        ///< empty: not told
  std::string gpu;                 ///< the product's name as printed, if all ranks have the same; empty: not told
  int iterations = 0;              ///< 0: not told
  bool cpu_time = false;           ///< nccl-tests -C: how long the call took the host, not how long it took
  /// What else the header tells, by the tool's own words: type, redop, root, graph, agg_iters; device, qps, link, mtu.
  std::map<std::string, std::string> details;
  std::vector<LogRow> rows;  ///< rising lines, or of the probe bytes; bytes as the tool counts them
};

struct NcclRing {
  int channel = 0, channels = 0;
  std::vector<int> ranks;  ///< in order; NCCL prints the first 20 only
  auto operator<=>(const NcclRing&) const = default;
};
/// One rank's place in one channel's tree.
struct NcclTreeNode {
  int channel = 0, rank = 0;
  int up = -1;  ///< -1: the root
  std::vector<int> down;
  auto operator<=>(const NcclTreeNode&) const = default;
};
struct NcclEdge {
  int channel = 0, from = 0, to = 0;
  bool receives = false;  ///< printed by the receiver
  std::string transport;  ///< as printed: P2P/CUMEM, SHM/direct/direct, NET/IB/0/GDRDMA, NET/Socket/0
  auto operator<=>(const NcclEdge&) const = default;
};
struct NcclCommunicator {
  int ranks = 0, nodes = 0, local_ranks = 0;  ///< 0: not told
  auto operator<=>(const NcclCommunicator&) const = default;
};
/// A collective call's choice (NCCL_DEBUG_SUBSYS=TUNING).
struct NcclChoice {
  std::string operation;  ///< our word; empty: older versions do not tell
  std::int64_t bytes = 0;
  std::string algorithm, protocol;  ///< our words: ring, nvlstree ...; ll, ll128, simple
  int channels = 0;                 ///< 0: not told
  auto operator<=>(const NcclChoice&) const = default;
};
struct NcclNic {
  int number = 0;
  std::string name;  ///< mlx5_0:1, eth0
  std::string kind;  ///< IB, RoCE, Socket
  auto operator<=>(const NcclNic&) const = default;
};

/// Counts of connections by what each says of its transport.
struct NcclConnections {
  int gdr = 0, staged = 0;     ///< GPUDirect RDMA, or through host memory
  int sockets = 0, other = 0;  ///< the same connections by what carries them
};

/// Connections between GPUs by what carries them, of all ranks that print. Those over a network are in NcclConnections.
struct NcclPeers {
  int direct = 0;        ///< peer to peer: P2P/CUMEM, P2P/IPC, P2P/direct pointer, P2P/indirect
  int same_process = 0;  ///< of these, the ones that need one process for both GPUs: P2P/direct pointer
  int across_hosts = 0;  ///< of these, the ones of an NVLink domain of several hosts: P2P/MNNVL
  int host_memory = 0;   ///< SHM
};

/// What NCCL says of itself. Ranks of several communicators are not told apart; each thing is listed once.
struct NcclFacts {
  std::string version;  ///< "2.21.5"; of several the first
  int line = 0;         ///< of the first line by NCCL; 0: there is none
  std::vector<NcclCommunicator> communicators;
  std::vector<NcclRing> rings;
  std::vector<NcclTreeNode> trees;
  std::vector<NcclEdge> edges;
  std::vector<NcclChoice> choices;
  std::vector<NcclNic> nics;
  std::map<std::string, std::int64_t> nic_speeds;  ///< Mb/s by name as in `nics`; from 2.27 on, with the NET subsystem
  std::vector<std::string> plugins;                ///< loaded: of the network, tuner, CollNet
  std::vector<std::string> networks;               ///< "Using network ...": IB, Socket, AWS Libfabric
  std::string provider;                            ///< of libfabric: efa
  std::map<std::string, std::string> env;          ///< variables that NCCL says it found set
  int channels = 0, collnet_channels = 0, nvls_channels = 0, p2p_channels = 0;  ///< the most of any communicator
  std::optional<bool> nvls_multicast;                                           ///< whether the GPUs offer it
  std::optional<bool> pxn, gdr;           ///< of rings between nodes, as NCCL sums it up
  int gdr_enabled = 0, gdr_disabled = 0;  ///< lines about a GPU and NIC
  std::optional<bool> mnnvl;              ///< whether it uses NVLink across hosts; before 2.21 not told
  bool mnnvl_broken = false;              ///< it is there, and NCCL could not use it
  int peers_refused = 0;                  ///< lines about two GPUs that the driver keeps from accessing each other
  bool acs_hint = false;                  ///< NCCL's hint at Access Control Services, after an error of a NIC
  std::string topology_file;              ///< that NCCL read; of several the first
  bool topology_missing = false;          ///< one that it was told to read could not be opened
  int unplaced_nics = 0;                  ///< lines about NICs that are no PCI devices
  std::vector<std::string> warnings;      ///< "NCCL WARN" lines without their place, the first 50

  /// How its connections over the network go, of all ranks that print.
  NcclConnections over_network() const;
  NcclPeers between_gpus() const;
  /// Numbers of the NICs that connections name, rising. Hosts number theirs alike.
  std::vector<int> nics_in_use() const;
  /// Ranks that print connections of theirs.
  int ranks_that_print() const;
  /// The largest communicator; zeros: not told.
  NcclCommunicator largest() const;
};

/// `nvidia-smi topo -m`.
struct TopoMatrix {
  int line = 0;
  std::vector<std::string> devices;  ///< GPU0, NIC0, mlx5_0
  std::vector<std::string> links;    ///< [row * devices + column]: X, NV18, PIX, PXB, PHB, NODE, SYS; empty: not read
  std::vector<std::string> cpus, numa;       ///< affinity by device; empty: not told
  std::map<std::string, std::string> names;  ///< legend of NICs: NIC0 -> mlx5_0
  const std::string& link(std::size_t row, std::size_t column) const { return links[row * devices.size() + column]; }
};

/// A matrix of p2pBandwidthLatencyTest.
struct PeerMatrix {
  int line = 0;
  std::string kind;  ///< connectivity, unidirectional_bandwidth, bidirectional_bandwidth, gpu_latency, cpu_latency
  bool peer_to_peer = false;  ///< whether it was enabled
  std::vector<int> devices;
  std::vector<std::optional<double>> values;  ///< [from * devices + to]; GB/s or us; empty: not read
};

struct Problem {
  int line = 0;
  std::string message;  ///< in lower case, no full stop
};

struct Imported {
  std::vector<LogTable> tables;
  NcclFacts nccl;
  std::optional<TopoMatrix> topo;  ///< of several the first
  std::vector<PeerMatrix> peers;
  std::optional<NodeLayout> node;  ///< of NCCL's topology XML; of several the first
  std::vector<Problem> problems;   ///< rising lines, the first 1,000
  std::int64_t problems_left_out = 0;
  int lines = 0;
  /// Whether nothing at all was found.
  bool empty() const;
};

/// Logs with their names.
using NamedLogs = std::vector<std::pair<std::string, Imported>>;

/// \throws UserError only if the stream fails
Imported import_log(std::istream& in);

/// A line per table and fact.
std::string import_text(const Imported& log);
/// All of it: a list, one entry per log.
std::string import_json(const NamedLogs& logs);

}  // namespace fabricast
