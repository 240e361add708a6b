// Errors of forecasts of collectives, by system and size band.
//
//   error of a row               |ln(forecast / measured)|
//   error of a system in a band  exp(median over its rows) - 1
//
// An error of 10 % thus means that half of the rows are within a factor of 1.10 of the measurement, in either
// direction. Each system counts once in each band, however many cases and rows it has.
//
// Rows whose NCCL algorithm has no schedule are forecast with a stand-in (ForecastOfCase::Row::served).
//
// Pure functions; safe to call concurrently. All errors and widths are fractions: 0.1 is 10 %.
#pragma once

#include <map>
#include <optional>

#include "fabricast/calibrate/directions.hpp"
#include "fabricast/calibrate/levels.hpp"
#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// 90 % interval of a statistic over systems, by a bootstrap over systems [Efron1993]. Differences within it are not
/// significant.
struct MedianInterval {
  double low = 0, high = 0;
};
/// The interval in percent, `1.2 to 3.4`. Empty if there is none.
std::string percent_text(const std::optional<MedianInterval>& interval);

/// Our forecasts compared with NCCL's own estimates, on the rows for which NCCL makes one: rings, trees, NVLS, CollNet
/// and PAT, but not sends and receives. A cell is a system in a band.
struct BesideNccl {
  BandValues ours{}, nccl{};                        ///< medians over systems of their errors
  std::array<int, bands.size()> nearer{}, cells{};  ///< number of cells in which our error is smaller; of all cells
};
/// Rows without an estimate of NCCL are left out.
BesideNccl beside_nccl(const std::vector<ErrorRow>& rows);

/// Errors of all systems, and statistics over systems.
struct ErrorTable {
  /// A system in a band.
  struct Cell {
    double error = 0;  ///< exp(median |ln ratio|) - 1
    double bias = 0;   ///< exp(median ln ratio) - 1
    int rows = 0;
  };
  std::map<std::string, std::array<Cell, bands.size()>> systems;  ///< [system][band]
  BandValues median{}, worst_decile{}, mean{};                    ///< over systems; 0 for a band without rows
  /// 90 % interval of `median`. Null below five systems: with a probability above 10 %, all of them are then on one
  /// side of the median of the population.
  std::array<std::optional<MedianInterval>, bands.size()> median_interval{};
  /// Fraction of rows whose measurement lies in the forecast's 90 % interval, each system counted once. 0 without
  /// intervals.
  BandValues covered{};
  BandValues width{};  ///< median over systems of the interval's factor minus 1
  BesideNccl beside_nccl;
  int rows = 0;
  /// Whether the forecasts of the rows had intervals.
  bool has_intervals() const { return width != BandValues{}; }
};
/// The table of rows. Systems are in the order of their names, and each counts once, however many rows it has.
ErrorTable error_table(const std::vector<ErrorRow>& rows);
/// Median error over systems below 1 MiB and from 1 MiB on; 0 if there are no rows.
std::array<double, 2> error_halves(const std::vector<ErrorRow>& rows);
/// Appends the errors of a case.
void add_errors(const std::string& system, const ForecastOfCase& forecast, std::vector<ErrorRow>& errors);

/// The groups that are left out of a fit together.
///
///   system  one system
///   site    all systems of a place, of a provider's node type or of an author
///   kind    a GPU generation on a kind of network, or on a kind of node if there is no network
///   fifth   a fifth of the sites, dealt in turn by name; quicker than one site after another
enum class LeftOut { system, site, kind, fifth };
template <>
struct EnumNames<LeftOut> {
  static constexpr std::array<std::string_view, 4> names{"system", "site", "kind", "fifth"};
};

/// A case with its forecast.
struct CaseResult {
  std::string id, system;
  ForecastOfCase forecast;
};

/// The errors of all rows.
std::vector<ErrorRow> errors_of(const std::vector<CaseResult>& cases);

/// Held-out errors: forecasts of systems by fits that have not seen them.
struct LeaveOneOut {
  LeftOut by = LeftOut::system;
  ErrorTable in_sample;              ///< by a fit of all cases
  ErrorTable left_out;               ///< by fits without the group of the system
  Levels levels{};                   ///< of the systems left out
  std::vector<LevelCause> causes{};  ///< of the systems left out
  std::vector<CaseResult> cases{};   ///< by fits that have not seen them
};

/// Errors of systems that are calibrated with some of their own measurements, starting from a fit that has not seen
/// them. `before` is that fit without the calibration.
struct Calibrated {
  /// Cases of more than two nodes, calibrated with those of one and two; systems that have both.
  ErrorTable larger_before, larger_after;
  /// Their median errors below 1 MiB and from 1 MiB on.
  std::array<double, 2> larger_halves_before{}, larger_halves_after{};
  /// Every third size, calibrated with the other sizes; three times.
  ErrorTable sizes_before, sizes_after;
};

/// Everything that the page and the text of a validation show.
struct Validation {
  std::vector<CaseResult> cases;
  std::vector<std::pair<std::string, std::string>> failed;  ///< id and reason of cases that did not run
  ErrorTable errors;                                        ///< of all rows of `cases`, stand-ins included
  int stand_ins = 0;                                        ///< rows that another algorithm than NCCL's was timed for
  std::vector<ConfigurationPair> pairs;                     ///< of all cases that ran, stand-ins included
  std::vector<LeaveOneOut> leave_out;                       ///< empty: not requested
  std::optional<Calibrated> calibrated;                     ///< absent: not requested
};

/// Forecasts all cases with the given hardware. A case that is refused is listed in `failed`.
Validation validate_cases(const std::vector<MeasuredCase>& cases, const Hardware& hardware);
/// Tables as text for people.
/// \param rows  whether to list every row
std::string validation_text(const Validation& v, bool rows);
/// The validation as JSON (docs/formats.md).
std::string validation_json(const Validation& v);
/// The page docs/validation.md.
std::string validation_markdown(const Validation& v, const Hardware& hardware);

}  // namespace fabricast
