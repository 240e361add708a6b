// Logs that people already have, read into plain values (docs/calibrate/import.md).
//
// One stream may mix all of these, in any order:
//
//   nccl-tests                  its text and its JSON file, and rows pasted without a header
//   perftest, OSU               bandwidth and latency tables
//   `calibrate probe`           JSONL of its nccl backend
//   CSV                         with a header line, `bytes,time_us`
//   CUDA, nvidia-smi            p2pBandwidthLatencyTest, `nvidia-smi topo -m`
//   NCCL                        NCCL_DEBUG=INFO (and subsystem TUNING), the topology XML
//
// Telemetry of running jobs has readers of its own (live.hpp), which give the same values.
//
// Lines may end in CRLF, contain colour codes, and carry the prefix of a launcher (`[1,0]<stdout>:`, `pod-0: `, `3: `).
//
// Nothing is guessed. A value that a log does not state stays empty. A line of a known format becomes a Problem and
// gives no value if it is malformed, or if it contradicts itself by more than the rounding of its numbers. Text of no
// known format is ignored.
//
// Memory is that of the result plus a constant. Lines are cut at 64 KiB, except JSON, which is read in pieces. An XML
// document is held up to 4 MiB.
//
// Units: sizes in bytes, times in us, rates in GB/s (10^9 bytes per second). Concurrent calls on different streams are
// safe.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/job.hpp"
#include "fabricast/collective/collective.hpp"
#include "fabricast/hardware/layout.hpp"

namespace fabricast {

/// How the calls of a job at one size differed.
struct CallSpread {
  std::int64_t calls = 0;  ///< calls that the time is taken from; of one rank each if not `matched`
  /// Whether the calls of all ranks were put together. `time_us` is then the median over calls of the shortest time of
  /// any rank; else it is the lowest tenth of what ranks recorded, which includes waiting for others.
  bool matched = false;
  double low_us = 0, high_us = 0;  ///< 5 % and 95 % of the calls
  std::optional<double> skew_us;   ///< median time between the first and the last rank to arrive; if `matched`
  /// The tool states only that the size is at least `bytes` and below this; 0: `bytes` is exact.
  std::int64_t bytes_below = 0;
};

/// One size of a table.
struct LogRow {
  int line = 0;
  std::int64_t bytes = 0;
  double time_us = 0;                          ///< out of place; in place where the log has no other
  std::optional<double> in_place_us;           ///< in place, where the tool measures it
  std::int64_t wrong = 0;                      ///< results that the tool counted as wrong, both places together
  std::optional<double> gigabytes_per_second;  ///< where the tool measures a rate; time_us is then bytes over rate
  std::optional<CallSpread> spread = {};       ///< for telemetry of a job
  /// nccl-tests: the lowest and the highest busbw / algbw that the printed digits allow.
  std::optional<std::pair<double, double>> bus_ratio = {};
  /// Whether its size is known to within 5 %, so that it counts as one size.
  bool one_size() const;
};

/// One size sweep. If one run prints several types, operators or roots, each of them is a table.
struct LogTable {
  /// nccl_tests, osu, perftest, probe, csv; of jobs: inspector, profiler, flight_recorder, kineto, chakra, prometheus
  std::string tool;
  /// For nccl-tests, CSV and the probe a name of CollectiveOp, or `hypercube`; else the name of the test program, such
  /// as osu_latency. Empty: not stated.
  std::string operation;
  int line = 0;                    ///< of its header, or of its first row
  int ranks = 0;                   ///< 0: not stated
  int nodes = 0;                   ///< number of hosts of the ranks; 0: not stated
  std::vector<std::string> hosts;  ///< their names, in order; empty: not stated
  int ranks_per_process = 0;       ///< nccl-tests: -g times -t; 0: not stated
  int threads = 0;                 ///< nccl-tests: -t; 0: not stated
  std::string nccl_version;        ///< empty: not stated
  std::string gpu;                 ///< product name as printed, if it is the same on all ranks; empty: not stated
  int iterations = 0;              ///< 0: not stated
  bool cpu_time = false;           ///< nccl-tests -C: times are those that the host spent in the call
  bool live = false;               ///< calls of a running job: one table for all communicators of one shape
  bool scattered = false;          ///< of a job: the ranks are not consecutive ranks of the job, so not whole nodes
  /// What else the header states, under the tool's own names: type, redop, root, graph, agg iters; device, qps, link,
  /// mtu.
  std::map<std::string, std::string> details;
  std::vector<LogRow> rows;  ///< by line, of the probe by bytes; bytes as the tool counts them
  /// Whether its ranks are those of whole nodes. A job has communicators of other shapes, such as one GPU of every
  /// node, which a scenario cannot express.
  bool whole_nodes(int gpus_per_node) const;
};

/// Whether a table of nccl-tests may be of a collective over so many ranks: its test fills in the same columns (redop,
/// root), and busbw / algbw has its factor in most rows. True for tables without these figures.
bool figures_fit(const LogTable& table, CollectiveOp op, std::int64_t ranks);
/// The number of ranks that busbw / algbw of the table has, if it is of this collective.
/// \returns 0 if no number or several fit
std::int64_t ranks_of_figures(const LogTable& table, CollectiveOp op);
/// The figures for messages, such as `redop sum, busbw / algbw 1.75`.
std::string figures_text(const LogTable& table);

/// The order of ranks in one channel.
struct NcclRing {
  int channel = 0, channels = 0;  ///< `channels`: their number, as printed beside it
  std::vector<int> ranks;         ///< in order; NCCL prints only the first 20
  auto operator<=>(const NcclRing&) const = default;
};

/// The place of one rank in the tree of one channel.
struct NcclTreeNode {
  int channel = 0, rank = 0;
  int up = -1;            ///< parent; -1: this rank is the root
  std::vector<int> down;  ///< children
  auto operator<=>(const NcclTreeNode&) const = default;
};

/// One connection of one channel.
struct NcclEdge {
  int channel = 0, from = 0, to = 0;  ///< `from` and `to` are ranks
  bool receives = false;              ///< whether the receiver printed the line
  std::string transport;              ///< as printed: P2P/CUMEM, SHM/direct/direct, NET/IB/0/GDRDMA, NET/Socket/0
  auto operator<=>(const NcclEdge&) const = default;
};

/// A communicator as NCCL announces it. 0: not stated.
struct NcclCommunicator {
  int ranks = 0, nodes = 0, local_ranks = 0;
  auto operator<=>(const NcclCommunicator&) const = default;
};

/// Algorithm and protocol that NCCL chose for one call (NCCL_DEBUG_SUBSYS=TUNING).
struct NcclChoice {
  std::string operation;  ///< a name of CollectiveOp; empty: older versions do not state it
  std::int64_t bytes = 0;
  std::string algorithm, protocol;  ///< names of Algorithm and Protocol
  int channels = 0;                 ///< 0: not stated
  auto operator<=>(const NcclChoice&) const = default;
};

/// A NIC that NCCL uses.
struct NcclNic {
  int number = 0;    ///< NCCL's number of it on its host
  std::string name;  ///< mlx5_0:1, eth0
  std::string kind;  ///< IB, RoCE, Socket
  auto operator<=>(const NcclNic&) const = default;
};

/// Connections over the network, counted in two ways.
struct NcclConnections {
  int gdr = 0, staged = 0;     ///< with GPUDirect RDMA; through host memory
  int sockets = 0, other = 0;  ///< over TCP sockets; over anything else
};

/// Connections between GPUs of one NVLink domain or host, by transport, of all ranks that print. Connections over a
/// network are in NcclConnections.
struct NcclPeers {
  int direct = 0;        ///< peer to peer: P2P/CUMEM, P2P/IPC, P2P/direct pointer, P2P/indirect
  int same_process = 0;  ///< of `direct`: P2P/direct pointer, which requires one process for both GPUs
  int across_hosts = 0;  ///< of `direct`: P2P/MNNVL, in an NVLink domain of several hosts
  int host_memory = 0;   ///< SHM
};

/// What NCCL prints about itself. Ranks of several communicators are not distinguished. Each fact is listed once,
/// however many ranks print it.
struct NcclFacts {
  std::string version;                          ///< "2.21.5"; the first of several
  int line = 0;                                 ///< of the first line by NCCL; 0: there is none
  std::vector<NcclCommunicator> communicators;  ///< largest first
  std::vector<NcclRing> rings;
  std::vector<NcclTreeNode> trees;
  std::vector<NcclEdge> edges;
  std::vector<NcclChoice> choices;
  std::vector<NcclNic> nics;
  std::map<std::string, std::int64_t> nic_speeds;  ///< Mb/s by name as in `nics`; from 2.27 on, with the NET subsystem
  std::vector<std::string> plugins;                ///< loaded plugins: network, tuner, CollNet, profiler
  std::vector<std::string> networks;               ///< "Using network ...": IB, Socket, AWS Libfabric
  std::string provider;                            ///< of libfabric: efa
  std::map<std::string, std::string> env;          ///< variables that NCCL reports as set
  int channels = 0, collnet_channels = 0, nvls_channels = 0, p2p_channels = 0;  ///< maxima over the communicators
  std::optional<bool> nvls_multicast;                                           ///< whether the GPUs offer it
  std::optional<bool> pxn, gdr;           ///< whether rings between nodes use them, by NCCL's summary
  int gdr_enabled = 0, gdr_disabled = 0;  ///< number of lines about a GPU and NIC
  std::optional<bool> mnnvl;              ///< whether NCCL uses NVLink across hosts; not stated before 2.21
  bool mnnvl_broken = false;              ///< NVLink across hosts is available, but NCCL could not use it
  int peers_refused = 0;                  ///< number of lines about GPU pairs without peer access in the driver
  bool acs_hint = false;                  ///< NCCL's hint at Access Control Services, after an error of a NIC
  std::string topology_file;              ///< that NCCL read; the first of several
  bool topology_missing = false;          ///< a topology file that NCCL was given could not be opened
  int unplaced_nics = 0;                  ///< number of lines about NICs that are not PCI devices
  std::vector<std::string> warnings;      ///< "NCCL WARN" lines without host and rank, the first 50

  /// Counts the edges whose transport is a network, over all ranks that print.
  NcclConnections over_network() const;
  /// Counts the edges within hosts and NVLink domains.
  NcclPeers between_gpus() const;
  /// Numbers of the NICs that connections name, ascending. Equal numbers of different hosts count once.
  std::vector<int> nics_in_use() const;
  /// Number of ranks that print their connections.
  int ranks_that_print() const;
  /// The largest communicator; all zero if none is stated.
  NcclCommunicator largest() const;
};

/// The output of `nvidia-smi topo -m`.
struct TopoMatrix {
  int line = 0;
  std::vector<std::string> devices;  ///< GPU0, NIC0, mlx5_0
  std::vector<std::string> links;    ///< [row * devices + column]: X, NV18, PIX, PXB, PHB, NODE, SYS; empty: not read
  std::vector<std::string> cpus, numa;       ///< affinity by device; empty: not stated
  std::map<std::string, std::string> names;  ///< legend of NICs: NIC0 -> mlx5_0
  const std::string& link(std::size_t row, std::size_t column) const { return links[row * devices.size() + column]; }
};

/// A matrix of p2pBandwidthLatencyTest.
struct PeerMatrix {
  int line = 0;
  std::string kind;  ///< connectivity, unidirectional_bandwidth, bidirectional_bandwidth, gpu_latency, cpu_latency
  bool peer_to_peer = false;  ///< whether peer access was enabled
  std::vector<int> devices;
  std::vector<std::optional<double>> values;  ///< [from * devices + to]; GB/s or us; empty: not read
};

/// A line that could not be read.
struct Problem {
  int line = 0;         ///< 0: of the whole log
  std::string message;  ///< in lower case, without a full stop
  std::string file;     ///< of a job that has several; empty: the log itself
  int column = 0;       ///< in bytes from 1; 0: the whole line
};

/// Everything found in one log.
struct Imported {
  std::vector<LogTable> tables;
  NcclFacts nccl;
  std::optional<TopoMatrix> topo;  ///< the first of several
  std::vector<PeerMatrix> peers;
  std::optional<NodeLayout> node;      ///< from NCCL's topology XML; the first of several
  JobFacts job;                        ///< of telemetry
  std::vector<Problem> problems;       ///< by line, the first 1,000; of jobs by file first
  std::int64_t problems_left_out = 0;  ///< number of further problems
  int lines = 0;                       ///< length of the log
  /// Whether nothing was recognised.
  bool empty() const;
};

/// Logs with their names.
using NamedLogs = std::vector<std::pair<std::string, Imported>>;

/// Reads a log to its end. Unreadable lines are in `problems`.
/// \throws UserError only if the stream fails
Imported import_log(std::istream& in);

/// The contents as text for people, one line per table and fact.
std::string import_text(const Imported& log);
/// The contents as JSON: a list with one entry per log (docs/formats.md).
std::string import_json(const NamedLogs& logs);

}  // namespace fabricast
