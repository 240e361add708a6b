// Several processes that probe together: who they are, how they meet, what each does.
//
// Every rank connects to rank 0 at MASTER_ADDR and says hello: version, token, rank, what it has. Rank 0 takes who
// fits and refuses others with a reason that both sides see. The token keeps strangers and other jobs out; it is sent
// in the clear, so it does not help against one who listens on the network.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabricast/calibrate/probe.hpp"

namespace fabricast {

/// Who this process is among the ranks.
struct ProbePlace {
  int rank = 0, ranks = 1;
  std::string master = "127.0.0.1";  ///< where rank 0 listens
  int port = 0;
  std::string source;  ///< where that was found: "torchrun", "--rank"
};

/// Reads the variables of torchrun, Open MPI, Slurm and PMIx, in this order; one rank if there are none.
/// \throws UserError if they are incomplete or do not fit together
ProbePlace place_from(const std::map<std::string, std::string>& environment);
/// `host:port` of --master.  \throws UserError
void set_master(ProbePlace& place, const std::string& text);

/// What NCCL would take of NCCL_IB_TC, NCCL_IB_SL, NCCL_IB_PKEY and NCCL_IB_PCI_RELAXED_ORDERING: whole numbers, decimal,
/// 0x or octal; -1 stands for the default. \throws UserError if one is out of range, or no number
RdmaSettings rdma_settings_from(const std::map<std::string, std::string>& environment);

struct SessionOptions {
  ProbePlace place;
  std::string bind;   ///< address to listen on; empty: the one that leads to rank 0
  std::string token;  ///< may be empty if all are on one host
  std::string version;
  Seconds timeout{30};
  ProbeSettings settings;
  Repeats repeats;
  Seconds budget{60};
  std::uint64_t seed = 1;
  bool dry_run = false;
  std::string provenance;  ///< JSON of this rank's host

  /// Rank 0 only: measured before, by key; to be left out.
  std::function<bool(const Measurement&)> is_known = [](const Measurement&) { return false; };
  /// The plan in order, what is known left out.
  std::function<void(const std::vector<Measurement>&)> on_plan = [](const auto&) {};
  /// Provenance of every rank (JSON), before the first result.
  std::function<void(const std::vector<std::string>&)> on_start = [](const auto&) {};
  std::function<void(const Measurement&, const SampleSet&)> on_result = [](const auto&, const auto&) {};
  /// Remarks of any rank: a backend that is missing somewhere, a stranger refused.
  std::function<void(const std::string&)> on_note = [](const auto&) {};
};

struct SessionOutcome {
  std::size_t planned = 0, known = 0, measured = 0, failed = 0, left_out = 0;  ///< left out: no time
};

/// Does this rank's part, whichever it is; all returns are rank 0's.
/// \throws Unavailable if no backend can run, or a rank does not come or goes; UserError if rank 0 refuses this one;
///         Interrupted
SessionOutcome run_probe_session(const std::vector<ProbeBackendEntry>& backends, const SessionOptions& options);

/// What there is to know of this host, as JSON: kernel, CPU, PCI devices, drivers, NCCL's variables, and the settings of RDMA
/// that this rank takes.
/// \param root  "/", or a copy of it in a test
std::string host_provenance(const std::map<std::string, std::string>& environment, const RdmaSettings& rdma = {},
                            const std::string& root = "/");

/// JSONL: a line of provenance, then one per measurement.
std::string provenance_line(const std::string& version, const std::vector<std::string>& command, std::uint64_t seed,
                            const std::string& time, const std::vector<std::string>& ranks);
std::string result_line(const Measurement& measurement, const SampleSet& samples);

/// A file of an earlier run, read to go on with it.
struct EarlierResults {
  std::vector<std::string> keys;   ///< of what was measured without error
  std::vector<std::string> hosts;  ///< by rank, of the last line of provenance
  std::size_t whole = 0;           ///< bytes up to the last whole line
};
/// \throws UserError, with the line, if it is not such a file
EarlierResults read_earlier(const std::string& text, const std::string& file);
/// Host names by rank, of provenance by rank.
std::vector<std::string> hosts_of(const std::vector<std::string>& ranks);

}  // namespace fabricast
