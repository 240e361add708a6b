// Probes: measurements of GPUs, collectives and the network on the cluster at hand, and how they are organised.
//
//   backend      cuda, nccl, tcp, verbs: states why it is unavailable, names its ports, lists its measurements and
//                prepares one of them
//   measurement  one kind of measurement, one message size and one number of connections, on one rank, on one pair
//                of ranks and ports, or on all ranks
//   trial        a measurement that is ready to run on the ranks that take part; runs k repeats per call
//   session      connects the ranks, shuffles the plan, divides the time budget and repeats each measurement
//                (probe_session.hpp)
//
// Ranks are processes. Rank 0 plans and keeps the results. It starts one measurement at a time, so that measurements
// do not disturb each other. The leader of a measurement decides when the interval of the median is tight enough.
//
// A sample is a time in seconds per message or operation: half a round trip, one operation, or the average over a
// window of a steady stream. For a stream, bytes per sample is a rate. A failed measurement is a result too: it has an
// error.
//
// Not modelled: samples count as independent. Consecutive samples on one connection are not quite independent.
//
// Thread safety: the free functions keep no state and are safe to call concurrently if their callbacks are. Each
// backend and its trials are used by one thread.
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

/// An endpoint that a backend can measure on one rank: a port of an HCA, or a GPU.
struct ProbePort {
  std::string name;      ///< "mlx5_0/1", "gpu0"
  std::string network;   ///< ports can reach each other only if this is equal: "roce", "infiniband"
  BytesPerSecond rate;   ///< line rate, for estimates only; 0: unknown
  std::string device{};  ///< of a GPU: its UUID, which shows whether two ranks share it
  std::string gpu{};     ///< of an RDMA port: the nearest GPU; empty if there is none
};

/// What one rank reports about one backend.
struct BackendFacts {
  std::string backend;
  std::string unavailable;  ///< why it cannot run on that rank; empty if it can
  std::vector<ProbePort> ports;
};

/// One entry of the plan.
struct Measurement {
  std::string backend;
  std::string what;      ///< kind of measurement, named by the backend: latency, bandwidth, write_latency, ...
  std::string memory;    ///< where the data are: host, gpu
  int from = 0, to = 0;  ///< ranks; equal within a rank; the first and the last for a collective
  std::string from_port, to_port;
  Bytes bytes;             ///< size of a message
  int connections = 1;     ///< connections or queue pairs
  bool stream = false;     ///< many messages are in flight, so bytes per sample is a rate
  Seconds estimate;        ///< expected time of all repeats at the assumed rate; sets the share of the budget
  Bytes traffic;           ///< expected traffic in that time
  bool rate_known = true;  ///< false: the estimate assumes a line rate of 100 Gb/s

  /// All ranks take part, led by rank 0. Otherwise only `from` and `to` do, led by `from`.
  bool everyone = false;
  int gpus = 0;           ///< GPUs that communicate through NCCL; 0 for other backends
  double bus_factor = 0;  ///< bus bandwidth over algorithm bandwidth; 0 where there is none
  bool in_place = false;
  /// Forced NCCL settings; empty and 0: NCCL's choice.
  std::string algorithm, protocol;
  int channels = 0;

  /// The rank that decides when the measurement ends.
  int leader() const { return everyone ? 0 : from; }
  /// Whether a rank takes part.
  bool concerns(int rank) const { return everyone || rank == from || rank == to; }
  /// Names the measurement within a file of results, e.g. "tcp latency host 0 -> 1 1KiB x1".
  std::string key() const;
};

/// How queue pairs and memory are set up. The defaults are those of NCCL.
struct RdmaSettings {
  int traffic_class = 0;     ///< of RoCE packets: DSCP and two ECN bits; unused within an InfiniBand subnet
  int service_level = 0;     ///< of InfiniBand; for RoCE the VLAN priority
  int partition = 0;         ///< index into the port's table of partition keys
  int relaxed_ordering = 2;  ///< of PCIe writes by the NIC: 0 off, 1 on, 2 on if libibverbs has ibv_reg_mr_iova2
};

/// User settings of the backends. Each rank has its own `devices`, `gid` and `rdma`; rank 0 plans with the others.
struct ProbeSettings {
  std::vector<Bytes> sizes;      ///< of messages; empty: the defaults of each backend
  std::vector<int> connections;  ///< of streams; empty: the defaults of each backend
  int gid = -1;                  ///< verbs: index into the GID table of the port; -1: the best one
  RdmaSettings rdma;
  std::vector<std::string> devices;      ///< use only these devices or ports of this rank; empty: all
  std::vector<std::string> memories;     ///< verbs: host, gpu; empty: both
  std::vector<std::string> collectives;  ///< nccl: collectives and `send`; empty: all
  /// nccl: settings to force. Each combination gets a communicator of its own. Empty: NCCL's choice.
  std::vector<std::string> algorithms, protocols;
  std::vector<int> channels;
};

/// Role in a measurement. The leader is `first`; every other rank is `second`.
enum class ProbeSide { first, second };

class PeerLink;

/// A measurement that is ready to run. Every rank that takes part has one.
class ProbeTrial {
 public:
  virtual ~ProbeTrial() = default;
  /// Takes `repeats` samples. All sides call it with the same number. One side returns the samples, the others nothing.
  /// \throws ProbeFailure
  virtual std::vector<Seconds> run(int repeats) = 0;
  /// Details found during preparation, for the results: how memory is registered, whether copies are direct.
  virtual std::string how() const { return {}; }
};

/// A way to measure. Every rank has its own object; `plan` is called on rank 0 only.
class ProbeBackend {
 public:
  virtual ~ProbeBackend() = default;
  /// Why it cannot run on this host; empty if it can.
  virtual std::string unavailable() = 0;
  /// \pre unavailable() is empty
  /// \throws ProbeFailure
  virtual std::vector<ProbePort> ports() = 0;
  /// Everything that can be measured.
  /// \param facts  by rank; a rank on which the backend cannot run has no ports
  /// \throws ProbeFailure if nothing can be measured for a reason that the user should see
  virtual std::vector<Measurement> plan(const ProbeSettings& settings, const std::vector<BackendFacts>& facts) = 0;
  /// Prepares this rank's side of a measurement. The links must outlive the trial.
  /// \param links  on the first side: one to each other rank, in the order of ranks; on the second side: one to the
  ///               first; empty if one rank measures alone
  /// \throws ProbeFailure
  virtual std::unique_ptr<ProbeTrial> prepare(const Measurement& measurement, const ProbeSettings& settings,
                                              ProbeSide side, const std::vector<PeerLink*>& links) = 0;
};

/// A backend by name, and how to make one. Making one measures nothing.
struct ProbeBackendEntry {
  std::string_view name;
  std::function<std::unique_ptr<ProbeBackend>()> make;
};

/// All backends of calibrate/probe/backends.inc, also those that this build or host does not support.
const std::vector<ProbeBackendEntry>& probe_backends();

/// A measurement failed. Samples of earlier rounds are kept, and the session continues.
class ProbeFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// When to stop repeating a measurement.
struct Repeats {
  double tightness = 0.02;  ///< stop when half the width of the interval is at most this fraction of the median
  int least = 8;            ///< samples before that, if time allows
  int most = 2000;          ///< samples
  Seconds round{0.25};      ///< approximate time of a round, between two checks of the clock
};

/// Result of a measurement.
struct SampleSet {
  std::vector<Seconds> samples;  ///< in the order taken
  Seconds median, low, high;     ///< median and its 95 % interval from order statistics
  std::string error;             ///< why the measurement failed; empty if it did not
  std::string how;               ///< ProbeTrial::how()
};

/// Median and its 95 % interval; zeros if there are no samples. Below six samples the interval is their full range,
/// which covers less than 95 %.
SampleSet summarise(std::vector<Seconds> samples);

/// Discards one warm-up sample, then repeats until the interval is tight, `repeats.most` samples are taken, or `share`
/// has passed since the call. Each round takes at most twice as many samples as the one before. At least one sample is
/// taken unless `run` fails.
/// \param run  takes k samples
/// \param now  a steady clock
/// \returns the samples; after a ProbeFailure those before it, with its text in `error`
SampleSet repeat_until_tight(const std::function<std::vector<Seconds>(int)>& run, const Repeats& repeats, Seconds share,
                             const std::function<Seconds()>& now);

/// Shuffles the plan. The order depends on the seed and not on the order in which backends list measurements.
void shuffle_plan(std::vector<Measurement>& plan, std::uint64_t seed);
/// The part of the remaining budget for measurement `next`: its estimate relative to all from `next` on. Time that a
/// measurement does not use is thereby shared by the later ones.
/// \pre next < plan.size()
Seconds share_of(const std::vector<Measurement>& plan, std::size_t next, Seconds left);
/// The plan as a table, one line per kind, size and number of connections, with time and traffic, and notes below it.
std::string plan_text(const std::vector<Measurement>& plan, Seconds budget);

}  // namespace fabricast
