// Measured cases from logs, for `calibrate fit` and `calibrate validate` (docs/calibrate/import.md#cases).
//
// A case needs facts that a table alone rarely states: the GPU, how GPUs of a node are connected, the NICs and their
// rate. They may come from any log of the same system (NCCL's log, a topology file), or from a scenario.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/import.hpp"

namespace fabricast {

/// The cases of some logs.
struct ImportedCases {
  std::vector<MeasuredCase> cases;
  std::vector<std::string> sources;  ///< by case, the name of its log
  /// Tables that are not cases and rows that were left out, with log, line and reason. Severity: warning.
  std::vector<Diagnostic> left_out;
};

/// Makes a case of each table of nccl-tests and of the probe. All logs belong to one system: any of them may state its
/// hardware. NCCL's version, its variables and the use of GPUDirect RDMA apply only to the tables of their own log.
///
/// Tables of other tools, of host times (nccl-tests -C) and of unknown operations are left out, as are rows of 0 bytes
/// and rows with wrong results. Runs that a scenario cannot express (CUDA graphs, grouped calls, a root other than 0, a
/// topology file of NCCL) become cases with `set_aside`, which are validated but not fitted.
/// \param system    name of the system; ids of cases begin with it
/// \param scenario  supplies what no log states, and never overrides a log; null: no such source
/// \throws UserError that names what a case needs and no source states; or if logs, or a log and the scenario,
///         contradict each other
ImportedCases cases_of_logs(const NamedLogs& logs, const std::string& system, const Scenario* scenario);

/// The cases as JSON, in the format of `--cases` (docs/formats.md#measured-cases).
std::string cases_json(const ImportedCases& cases);

/// The name of a GPU in the shipped hardware for a product name as the driver prints it. Empty if the product is
/// unknown or may be one of several kinds.
std::string gpu_of_product(std::string_view product);

}  // namespace fabricast
