// Known performance regressions of NCCL, from its release notes and issues: models/planner/data/regressions.json.
//
// The entries are only cited. They do not make a forecast slower, unless the rule itself is modelled
// (docs/models/planner.md). `explain` and `check` cite the entries that match a call, and `list regressions` prints
// all. `check` also tries those whose mechanism a scenario can express. An entry without `match` is about something
// that a scenario does not state (grouped calls, the host's kernel) and is only listed.
//
// The table is parsed once, on first use. All functions are safe to call concurrently.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabricast/planner/planner.hpp"

namespace fabricast {

/// An entry of the table.
struct Regression {
  /// Calls that it affects. Empty lists and strings match anything. Words are those of EnumNames or keys of the
  /// hardware data. `links` also requires that the call uses the network.
  struct Match {
    std::vector<std::string> collectives, architectures, gpus, links, algorithms, protocols;
    std::string intranode;  ///< `nvlink` or `pcie`
    std::string cpu, buffers;
    std::optional<int> cross_nic;  ///< NCCL_CROSS_NIC
    std::int64_t least_nodes = 1, most_nodes = INT64_MAX;
    int least_gpus = 1, most_gpus = INT32_MAX;  ///< per node
    int least_nics_per_gpu = 0;
  };
  std::string id;                    ///< unique
  std::optional<NcclVersion> since;  ///< first version with it; none: unknown
  std::optional<NcclVersion>
      fixed;  ///< first version without it; none: not known to be fixed. At least one of both is set
  std::string where, symptom, workaround, source, confidence;  ///< one line each; only `workaround` may be empty
  std::optional<Match> match;
  /// Arguments of `--set` that reproduce it in a scenario; empty: its mechanism is not modelled, or always modelled.
  std::vector<std::string> simulated;

  /// Affected versions as text: `from 2.19.3 on`, `2.25.1 to before 2.29.2`, `before 2.23.4`.
  std::string versions() const;
};

/// All entries, ordered by version. \throws InternalError if the table is invalid
std::span<const Regression> known_regressions();

/// Entries that match a call: its version and everything that `match` states. If the first affected version is unknown,
/// the versions less than three minor releases before the fix match. Entries live as long as the process.
std::vector<const Regression*> regressions_of(const Planner& planner, const Plan& plan);

/// A paragraph and a JSON array of entries; empty, or `[]`, if there are none.
std::string regressions_text(const std::vector<const Regression*>& known);
std::string regressions_json(const std::vector<const Regression*>& known);

}  // namespace fabricast
