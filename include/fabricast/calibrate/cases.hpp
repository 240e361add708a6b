// Measured cases: runs of nccl-tests and similar tools, with what their sources state about the systems.
//
// The shipped cases are from public logs (calibrate/data/cases.json, which names each source). A user can pass a file
// of the same form (docs/formats.md, "Measured cases"). A case becomes a scenario, and CaseRunner forecasts it with any
// hardware parameters.
//
// Times of rows are in microseconds, as in the files; sizes are in bytes. Free functions keep no state. A CaseRunner is
// immutable after construction and may be used by several threads at once.
//
// Not modelled: fabrics that a source does not describe. They are assumed to be non-blocking with adaptive routing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/hardware/size_bands.hpp"
#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// One size of a case.
struct MeasuredRow {
  std::int64_t bytes = 0;
  double time_us = 0;
};

/// Rows of one system, collective, number of nodes and set of NCCL variables. Strings hold the values of the scenario
/// keys of the same meaning.
struct MeasuredCase {
  std::string id, system, collective, gpu, intranode;
  std::string link;          ///< kind of network; empty: none, or not stated
  std::string nccl_version;  ///< as the source states it; empty: not stated
  std::string site;          ///< equal for systems of one place, provider's node type or author; else the system
  int nodes = 1, gpus_per_node = 1;
  std::optional<int> nvlink_domain_nodes;      ///< if nodes share an NVLink domain; absent: not stated
  std::optional<int> nics;                     ///< per node; absent: not stated
  std::optional<double> nic_gbps;              ///< Gb/s per NIC; absent: not stated
  std::optional<bool> gdr;                     ///< GPUDirect RDMA; absent: not stated
  std::map<std::string, std::string> env;      ///< environment variables
  std::map<std::string, std::string> harness;  ///< how it was timed: keys of `workload.harness`
  /// Why no fit uses the case: a setting that a scenario cannot express, or that the source leaves open. Usually empty.
  std::string set_aside;
  std::vector<MeasuredRow> rows;
};

/// A number of the harness (`ranks_per_process`, `threads`); 1 if it is not stated.
int harness_number(const MeasuredCase& c, const char* key);

/// The cases of a JSON file.
/// \throws UserError if the file cannot be read or a case is invalid
std::vector<MeasuredCase> read_cases(const std::string& path);
/// The cases in a JSON text; `path` is for messages.
/// \throws UserError if a case is invalid
std::vector<MeasuredCase> cases_of(const std::string& text, const std::string& path);
/// Path of the shipped cases, next to the installed binary or in the source tree.
std::string shipped_cases_path();

/// The scenario of a case (YAML) with what its source states. The fabric is non-blocking and routes adaptively, because
/// the rows hold the best of repeats: rail-optimized if each GPU has a NIC, else a fat tree.
std::string scenario_of(const MeasuredCase& c);

/// The forecast of a case, next to its measurements.
struct ForecastOfCase {
  /// One size.
  struct Row {
    std::int64_t bytes = 0;  ///< as nccl-tests counts them
    Seconds measured, forecast;
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    bool served = true;  ///< whether NCCL's choice has a schedule; else another algorithm stands in
    double factor = 1;   ///< 90 % interval: forecast divided and multiplied by it; 1: none computed (add_intervals)
    Seconds nccl;        ///< NCCL's own estimate for the same algorithm and protocol; 0: it makes none
  };
  std::vector<Row> rows;               ///< in the order of the case
  std::vector<ResidualRow> residuals;  ///< by row; empty unless requested
};

/// Forecasts one case with different hardware parameters. The scenario is parsed once.
/// \pre the case outlives the object
class CaseRunner {
 public:
  /// \throws UserError that names the case if its scenario is invalid
  explicit CaseRunner(const MeasuredCase& c);
  /// Forecasts all rows, on the calling thread.
  /// \param residuals  also compute the properties that the distribution of errors depends on; this takes most of the
  ///                   time
  ForecastOfCase run(const Hardware& hardware, bool residuals = false) const;
  /// Forecasts of some rows, by their indices.
  std::vector<Seconds> times(const Hardware& hardware, const std::vector<std::size_t>& rows) const;
  /// The case, as it was given to the constructor.
  const MeasuredCase& measured() const { return *case_; }
  /// The scenario of the case, without hardware parameters.
  const Scenario& scenario() const { return scenario_; }
  /// Whether forecasts of the case can depend on the parameter with this path (as in Hardware::find).
  bool uses(const std::string& parameter) const;

 private:
  World world_of(const Hardware& hardware, std::vector<Bytes> sizes) const;

  const MeasuredCase* case_;
  Scenario scenario_;
  std::vector<std::string> prefixes_;
};

}  // namespace fabricast
