// Measured cases from logs, for `calibrate fit` and `calibrate validate`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/import.hpp"

namespace fabricast {

struct ImportedCases {
  std::vector<MeasuredCase> cases;
  std::vector<std::string> sources;  ///< the log of each
  /// What is no case or was left out of one, and why, each with its log.
  std::vector<Diagnostic> left_out;
};

/// The tables of nccl-tests as cases of one system. Its hardware may be told by any of the logs; version, variables and
/// the use of GPUDirect RDMA count for the tables of their own log only.
///
/// What no log tells is taken from the scenario, if there is one. What a log tells is never overruled by it.
/// \throws UserError that names what a case needs and nobody tells, or where log and scenario contradict each other
ImportedCases cases_of_logs(const NamedLogs& logs, const std::string& system, const Scenario* scenario);

/// A file as `--cases` reads it.
std::string cases_json(const ImportedCases& cases);

/// Our word for a GPU by the name that its driver prints; empty if it is none of ours.
std::string gpu_of_product(std::string_view product);

}  // namespace fabricast
