// A probe session: several processes that measure together, how they find each other, and the files of results.
//
// Every rank connects to rank 0 at the master address and sends a hello message: version, token, rank, host and
// backends. Rank 0 accepts ranks that fit and refuses others. Both sides learn the reason. The token keeps out
// strangers and other jobs. It is sent in the clear, so it does not protect against somebody who listens on the
// network.
//
// Every rank also listens on a port of its own for the other ranks, and requires a secret that rank 0 generates for
// each session.
//
// Results are JSONL: a line of provenance, then one line per measurement (docs/formats.md, "Probe results").
//
// Thread safety: all functions except run_probe_session keep no state. Callbacks of a session run on the thread that
// called run_probe_session.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabricast/calibrate/probe.hpp"

namespace fabricast {

/// The position of this process among the ranks, and the address of rank 0.
struct ProbePlace {
  int rank = 0, ranks = 1;
  std::string master = "127.0.0.1";  ///< where rank 0 listens
  int port = 0;
  std::string source;  ///< where rank and ranks come from: "torchrun", "open_mpi", "slurm", "pmix", "--ranks"; or empty
};

/// Reads the variables of torchrun, Open MPI, Slurm and PMIx, in this order. Without any of them there is one rank. The
/// address of rank 0 is MASTER_ADDR, or loopback if the launcher states that all ranks are on one host. The port is
/// MASTER_PORT, or 29577; under torchrun, whose own store listens on MASTER_PORT, it is the next one.
/// \throws UserError if variables are incomplete, out of range or contradictory
ProbePlace place_from(const std::map<std::string, std::string>& environment);
/// Sets master and port from the HOST:PORT of --master. An IPv6 address is in brackets.
/// \throws UserError
void set_master(ProbePlace& place, const std::string& text);

/// Reads NCCL_IB_TC, NCCL_IB_SL, NCCL_IB_PKEY and NCCL_IB_PCI_RELAXED_ORDERING: decimal, 0x or octal. -1 and an empty
/// value stand for the default.
/// \throws UserError if a value is out of range or not a whole number
RdmaSettings rdma_settings_from(const std::map<std::string, std::string>& environment);

/// What one rank needs to take part. Rank 0 plans what is measured.
struct SessionOptions {
  ProbePlace place;
  std::string bind;     ///< local address to listen on and to connect from; empty: the one that leads to rank 0
  std::string token;    ///< the same on all ranks; may be empty if rank 0 listens on loopback
  std::string version;  ///< must be the same on all ranks
  Seconds timeout{30};  ///< for a rank that does not connect or respond
  ProbeSettings settings;
  Repeats repeats;
  Seconds budget{60};  ///< for all measurements
  std::uint64_t seed = 1;
  bool dry_run = false;    ///< plan only
  std::string provenance;  ///< host_provenance() of this rank

  // The callbacks are called on rank 0 only.

  /// Whether a measurement already has a result; then it is skipped.
  std::function<bool(const Measurement&)> is_known = [](const Measurement&) { return false; };
  /// The plan in the order of measurement, without known measurements.
  std::function<void(const std::vector<Measurement>&)> on_plan = [](const auto&) {};
  /// Provenance of every rank (JSON), before the first result. Not called in a dry run.
  std::function<void(const std::vector<std::string>&)> on_start = [](const auto&) {};
  /// One measurement is done or has failed.
  std::function<void(const Measurement&, const SampleSet&)> on_result = [](const auto&, const auto&) {};
  /// A note for the user: a backend that a rank lacks, a refused connection.
  std::function<void(const std::string&)> on_note = [](const auto&) {};
};

/// Numbers of measurements. `known` ones had a result before the session; for `left_out` ones the budget was used up.
struct SessionOutcome {
  std::size_t planned = 0, known = 0, measured = 0, failed = 0, left_out = 0;
};

/// Does the part of this rank in the session and returns when the session has ended.
/// \returns the outcome on rank 0, zeros on other ranks
/// \throws Unavailable if no backend can run, or if a rank does not connect or is lost; UserError if a token is
///         missing or rank 0 refuses this rank; Interrupted on Ctrl-C; on rank 0 also what callbacks throw
SessionOutcome run_probe_session(const std::vector<ProbeBackendEntry>& backends, const SessionOptions& options);

/// Facts about this host as JSON: kernel, CPU, clock, NCCL's variables, HCAs, network interfaces, drivers, PCI devices,
/// GPUs, NCCL's version, and the RDMA settings of this rank.
/// \param environment  variables; only those that begin with NCCL_ are kept
/// \param root         "/", or a copy of its sysfs and procfs in a test
std::string host_provenance(const std::map<std::string, std::string>& environment, const RdmaSettings& rdma = {},
                            const std::string& root = "/");

/// The line of provenance, ending in a newline. The token is removed from the command.
/// \param time   UTC, as text
/// \param ranks  host_provenance() by rank
/// \pre each of `ranks` is JSON
std::string provenance_line(const std::string& version, const std::vector<std::string>& command, std::uint64_t seed,
                            const std::string& time, const std::vector<std::string>& ranks);
/// The line of a measurement, ending in a newline. Times are in microseconds and rates in GB/s, with six significant
/// digits.
std::string result_line(const Measurement& measurement, const SampleSet& samples);

/// A file of results that a session continues.
struct EarlierResults {
  std::vector<std::string> keys;   ///< of measurements without an error
  std::vector<std::string> hosts;  ///< by rank, from the last line of provenance
  std::size_t whole = 0;           ///< bytes up to the end of the last complete line
};
/// Reads the complete lines. An incomplete last line is ignored.
/// \param file  its name, for messages
/// \throws UserError, with the line, if the text is not a file of results
EarlierResults read_earlier(const std::string& text, const std::string& file);
/// Host names by rank.
/// \param ranks  host_provenance() by rank
/// \pre each has a host, as host_provenance() writes it
std::vector<std::string> hosts_of(const std::vector<std::string>& ranks);

}  // namespace fabricast
