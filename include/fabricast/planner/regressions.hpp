// What is known to be slow in versions of NCCL, from its release notes and issues: models/planner/data/regressions.json.
//
// The table cites; no forecast is made slower for it, except where the rule itself is modelled (docs/models/planner.md).
// `check` tries those whose mechanism a scenario can state.
// `explain` and `check` cite the entries that fit a call, `list regressions` prints all. An entry without `match` is about
// something that a scenario does not say (grouped calls, the host's kernel): it is listed only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabricast/planner/planner.hpp"

namespace fabricast {

struct Regression {
  /// Where it shows: each list is of words, empty for any.
  struct Match {
    std::vector<std::string> collectives, architectures, gpus, links, algorithms, protocols;
    std::string intranode;  ///< `nvlink` or `pcie`
    std::string cpu, buffers;
    std::optional<int> cross_nic;  ///< NCCL_CROSS_NIC
    std::int64_t least_nodes = 1, most_nodes = INT64_MAX;
    int least_gpus = 1, most_gpus = INT32_MAX;  ///< of a node
    int least_nics_per_gpu = 0;
  };
  std::string id;
  std::optional<NcclVersion> since;  ///< none: its source does not say
  std::optional<NcclVersion> fixed;  ///< the first without it; none: not known to be. One of both is there
  std::string where, symptom, workaround, source, confidence;
  std::optional<Match> match;
  /// `--set` words that make a scenario do what it does; empty: its mechanism is not modelled, or always is.
  std::vector<std::string> simulated;

  /// `2.19.3 on`, `2.25.1 to before 2.29.2`, `before 2.23.4`.
  std::string versions() const;
};

/// All of them, by version. \throws InternalError if the table is damaged
std::span<const Regression> known_regressions();

/// Those that fit a call. Where the source does not say since when, of releases less than three before the fix.
std::vector<const Regression*> regressions_of(const Planner& planner, const Plan& plan);

/// A paragraph and a JSON array of some; empty, or `[]`, for none.
std::string regressions_text(const std::vector<const Regression*>& known);
std::string regressions_json(const std::vector<const Regression*>& known);

}  // namespace fabricast
