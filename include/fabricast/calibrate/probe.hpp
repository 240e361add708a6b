// Probes: what is measured here, and how the measuring is organised.
//
//   a backend (tcp, verbs, ...)  says why it can not run, names its ports, lists its measurements, makes one
//   a measurement                one kind, one pair of ranks and ports (or all ranks), one size, one number of
//                                connections
//   a trial                      a measurement made ready on both sides: runs k repeats, as often as it is told to
//   the session                  brings ranks together, shuffles, shares out the budget, repeats, writes JSONL
//
// Processes are ranks. Rank 0 plans and keeps the results; it tells a pair of ranks to measure, one pair at a time, so
// that measurements do not disturb each other. The first rank of a pair decides when the interval is tight enough.
//
// A sample is the time of one message: half a round trip, or the time per message in a steady stream over a window of
// 10 ms at least. Bytes per sample of a stream is its rate. A failed measurement is data too: it has an error.
//
// Not modelled: samples are taken as independent; one after the other on one connection they are not quite.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

/// What a backend can measure from on one rank: a port of an HCA, a GPU.
struct ProbePort {
  std::string name;      ///< "mlx5_0/1"
  std::string network;   ///< ports of the same word may reach each other: "roce", "infiniband"
  BytesPerSecond rate;   ///< of the line; for estimates only; zero: not known
  std::string device{};  ///< of GPUs: the same word is the same GPU, also on another rank
  std::string gpu{};     ///< of an RDMA port: the GPU nearest to it; empty if there is none
};

/// What one rank has to say of one backend.
struct BackendFacts {
  std::string backend;
  std::string unavailable;  ///< why it can not run there; empty if it can
  std::vector<ProbePort> ports;
};

struct Measurement {
  std::string backend;
  std::string what;      ///< a word of the backend: latency, bandwidth, write_latency, ...
  std::string memory;    ///< where the data lie: host, gpu
  int from = 0, to = 0;  ///< ranks; the same if one process measures alone
  std::string from_port, to_port;
  Bytes bytes;  ///< of a message
  int connections = 1;
  bool stream = false;     ///< many messages in flight: bytes / sample is a rate
  Seconds estimate;        ///< of all repeats together, at the rate assumed
  Bytes traffic;           ///< meanwhile
  bool rate_known = true;  ///< false: the estimate takes 100 Gb/s for the line

  /// All ranks take part, and rank 0 is the first of them; else those of the pair do.
  bool everyone = false;
  int gpus = 0;           ///< that communicate; 0: this is no communication of GPUs by NCCL
  double bus_factor = 0;  ///< busbw over algbw, where there are such
  bool in_place = false;
  /// What NCCL is held to; empty and 0: its own choice.
  std::string algorithm, protocol;
  int channels = 0;

  int leader() const { return everyone ? 0 : from; }
  bool concerns(int rank) const { return everyone || rank == from || rank == to; }
  /// Names the measurement among those of a file.
  std::string key() const;
};

/// How NCCL sets up queue pairs and memory; defaults are NCCL's.
struct RdmaSettings {
  int traffic_class = 0;     ///< of RoCE's packets: DSCP and two bits of ECN; InfiniBand has none within a subnet
  int service_level = 0;     ///< of InfiniBand; of RoCE the priority of a VLAN
  int partition = 0;         ///< index into the port's table of partition keys
  int relaxed_ordering = 2;  ///< of PCIe writes by the NIC: 0 off, 1 on, 2 on where the library has ibv_reg_mr_iova2
};

/// What the user asks of the backends.
struct ProbeSettings {
  std::vector<Bytes> sizes;      ///< empty: those of the backend
  std::vector<int> connections;  ///< empty: those of the backend
  int gid = -1;                  ///< index into an RDMA port's table; -1: the best
  RdmaSettings rdma;
  std::vector<std::string> devices;      ///< only these devices or ports of this rank; empty: all
  std::vector<std::string> memories;     ///< host, gpu; empty: both
  std::vector<std::string> collectives;  ///< words of the nccl backend; empty: all
  /// For each a communicator of its own, in every combination; empty: NCCL's choice.
  std::vector<std::string> algorithms, protocols;
  std::vector<int> channels;
};

enum class ProbeSide { first, second };

class PeerLink;

/// A measurement made ready.
class ProbeTrial {
 public:
  virtual ~ProbeTrial() = default;
  /// Both sides call it with the same number. One of them returns the samples, the other nothing.
  /// \throws ProbeFailure
  virtual std::vector<Seconds> run(int repeats) = 0;
  /// What turned out when it was made ready, for the row of results: how memory is registered, which way copies go.
  virtual std::string how() const { return {}; }
};

class ProbeBackend {
 public:
  virtual ~ProbeBackend() = default;
  /// Empty, or why it can not run here.
  virtual std::string unavailable() = 0;
  virtual std::vector<ProbePort> ports() = 0;
  /// All that can be measured between ranks; `facts[r]` is what rank r has, empty where it can not run.
  virtual std::vector<Measurement> plan(const ProbeSettings& settings, const std::vector<BackendFacts>& facts) = 0;
  /// `links` lead from the first side to the others, by rank, and from each of these to the first; there are none if
  /// one process measures alone.  \throws ProbeFailure
  virtual std::unique_ptr<ProbeTrial> prepare(const Measurement& measurement, const ProbeSettings& settings,
                                              ProbeSide side, const std::vector<PeerLink*>& links) = 0;
};

struct ProbeBackendEntry {
  std::string_view name;
  std::function<std::unique_ptr<ProbeBackend>()> make;
};

/// All that are built in.
const std::vector<ProbeBackendEntry>& probe_backends();

/// A measurement went wrong: the sample is lost, the session goes on.
class ProbeFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How long to repeat.
struct Repeats {
  double tightness = 0.02;  ///< half the interval of the median, over the median
  int least = 8;            ///< samples, if the time allows
  int most = 2000;
  Seconds round{0.25};  ///< repeats between two looks at the clock take about as long
};

struct SampleSet {
  std::vector<Seconds> samples;
  Seconds median, low, high;  ///< 95 % interval of the median, by order statistics
  std::string error;          ///< of a measurement that failed, or empty
  std::string how;            ///< as the trial says
};

/// Median and interval of what was sampled; zeros if nothing was.
SampleSet summarise(std::vector<Seconds> samples);

/// Warms up, then repeats until the interval is tight or `share` is used. At least one sample is taken.
/// \param run  takes k samples   \param now  a steady clock
SampleSet repeat_until_tight(const std::function<std::vector<Seconds>(int)>& run, const Repeats& repeats, Seconds share,
                             const std::function<Seconds()>& now);

/// Shuffles by the seed, whatever order the backends list.
void shuffle_plan(std::vector<Measurement>& plan, std::uint64_t seed);
/// What of the budget left belongs to the first of what is left of the plan.
Seconds share_of(const std::vector<Measurement>& plan, std::size_t next, Seconds left);
/// The plan in words: a line per kind, pairs folded; how long, how much traffic.
std::string plan_text(const std::vector<Measurement>& plan, Seconds budget);

}  // namespace fabricast
