// Measured cases: runs of nccl-tests and the like from public logs, with what their sources tell of the systems.
//
// The shipped copy (calibrate/data/cases.json) holds them with their sources; a file of the same form can be given.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/hardware/size_bands.hpp"
#include "fabricast/report/forecast.hpp"

namespace fabricast {

struct MeasuredRow {
  std::int64_t bytes = 0;
  double time_us = 0;
};

/// One system, collective, number of nodes and set of NCCL variables.
struct MeasuredCase {
  std::string id, system, collective, gpu, intranode, link, nccl_version;
  std::string site;  ///< what systems of one place, provider's node type or author have in common; else the system
  int nodes = 1, gpus_per_node = 1;
  std::optional<int> nvlink_domain_nodes;  ///< where nodes share an NVLink domain
  std::optional<int> nics;
  std::optional<double> nic_gbps;
  std::optional<bool> gdr;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> harness;
  /// Why no fit looks at it: something of it that a scenario can not say, or that its source does not; usually empty.
  std::string set_aside;
  std::vector<MeasuredRow> rows;
};

/// A number of how it was timed (`ranks_per_process`, `threads`); 1 where nothing is said of it.
int harness_number(const MeasuredCase& c, const char* key);

/// \throws UserError if the file can not be read or a case is not of the form.
std::vector<MeasuredCase> read_cases(const std::string& path);
/// The same of a text; `path` is for messages.
std::vector<MeasuredCase> cases_of(const std::string& text, const std::string& path);
/// Where the shipped cases are: beside the binary's data, or in the source tree.
std::string shipped_cases_path();

/// The scenario of a case: only what its source tells. A fabric it does not describe is taken as non-blocking and well
/// balanced, as the rows hold the best of repeats.
std::string scenario_of(const MeasuredCase& c);

/// A case against its forecast.
struct ForecastOfCase {
  struct Row {
    std::int64_t bytes = 0;
    double measured = 0, forecast = 0;  ///< s
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    bool served = true;  ///< NCCL's choice has a schedule; else a stand-in was timed
    double factor = 1;   ///< 90 % interval of the forecast: divided and multiplied by it; 1: not asked for
    double nccl = 0;     ///< s, NCCL's own estimate of the same algorithm and protocol; 0: it makes none
  };
  std::vector<Row> rows;
  std::vector<ResidualRow> residuals;  ///< by row; empty: not asked for
};

/// A case whose scenario is read once and can be run with other hardware parameters.
class CaseRunner {
 public:
  /// \throws UserError if the scenario does not run
  explicit CaseRunner(const MeasuredCase& c);
  /// \param residuals  whether to find what the distribution of errors asks of rows, which takes most of the time
  ForecastOfCase run(const Hardware& hardware, bool residuals = false) const;
  /// Forecasts (s) of some rows.
  std::vector<double> times(const Hardware& hardware, const std::vector<std::size_t>& rows) const;
  const MeasuredCase& measured() const { return *case_; }
  const Scenario& scenario() const { return scenario_; }
  /// Whether the parameter with this path (as in Hardware::find) can matter to the case.
  bool uses(const std::string& parameter) const;

 private:
  std::unique_ptr<World> world_of(const Hardware& hardware, std::vector<Bytes> sizes) const;

  const MeasuredCase* case_;
  Scenario scenario_;
  std::shared_ptr<SearchStore> searches_;  ///< NCCL's hang on no parameter
  std::vector<std::string> prefixes_;
};

}  // namespace fabricast
