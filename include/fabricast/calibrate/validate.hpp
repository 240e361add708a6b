// Forecasts against measurements: errors by system and size band.
//
// Error of a row: |ln(forecast / measured)|. Of a system in a band: exp(median over its rows) - 1, so 10 % means that
// half of its rows are within a factor 1.10 either way. Each system counts once, however many cases it has.
#pragma once

#include <map>
#include <optional>

#include "fabricast/calibrate/directions.hpp"
#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// One forecast against its measurement.
struct ErrorRow {
  std::string system;
  std::size_t band = 0;
  double log_ratio = 0;  ///< ln(forecast / measured)
  double within = 0;     ///< of its 90 % interval, half as ln; 0: has none
};

using BandValues = std::array<double, bands.size()>;  ///< [band]

struct ErrorTable {
  struct Cell {
    double error = 0;  ///< exp(median |ln ratio|) - 1
    double bias = 0;   ///< exp(median ln ratio) - 1
    int rows = 0;
  };
  std::map<std::string, std::array<Cell, bands.size()>> systems;  ///< [system][band]
  BandValues median{}, worst_decile{}, mean{};
  /// 90 % interval of the median, by a bootstrap over systems: differences inside it say nothing [Efron1993].
  BandValues median_low{}, median_high{};
  /// Share of rows whose measurement lies within the forecast's 90 % interval, each system counted once; 0: no intervals.
  BandValues covered{};
  BandValues width{};  ///< median over systems of the interval's factor less one
  int rows = 0;
  bool has_intervals() const { return width != BandValues{}; }
};
ErrorTable error_table(const std::vector<ErrorRow>& rows);
/// Median over systems of their errors, as of a band, below 1 MiB and from there on; 0 where there are none.
std::array<double, 2> error_halves(const std::vector<ErrorRow>& rows);
/// Adds the rows of a case.
void add_errors(const std::string& system, const ForecastOfCase& forecast, std::vector<ErrorRow>& errors);

/// What is left out together: a system alone, all of one site (a place, a provider's node type or an author), or all of
/// one kind (a GPU generation on a kind of network, or of node where there is none).
enum class LeftOut { system, site, kind };
template <>
struct EnumNames<LeftOut> {
  static constexpr std::array<std::string_view, 3> names{"system", "site", "kind"};
};

/// How far off forecasts are for systems that the fit has not seen; both by parameters fitted for the table.
struct LeaveOneOut {
  LeftOut by = LeftOut::system;
  ErrorTable in_sample, left_out;
};

/// How far off forecasts are for a system that is calibrated with some of its own measurements, after a fit that has not
/// seen it. Before: by that fit alone.
struct Calibrated {
  /// Of more than two nodes, by its cases of one and two; systems that have both.
  ErrorTable larger_before, larger_after;
  /// Median over systems of their errors below 1 MiB and from there on.
  std::array<double, 2> larger_halves_before{}, larger_halves_after{};
  /// Of every third size, by its other sizes, three times.
  ErrorTable sizes_before, sizes_after;
};

struct Validation {
  struct CaseResult {
    std::string id, system;
    ForecastOfCase forecast;
  };
  std::vector<CaseResult> cases;
  std::vector<std::pair<std::string, std::string>> failed;  ///< id and reason
  ErrorTable errors;                                        ///< of rows whose algorithm has a schedule
  int stand_ins = 0;                                        ///< rows for which another algorithm than NCCL's was timed
  std::vector<ConfigurationPair> pairs;  ///< of all cases that ran; where another algorithm stands in, it is compared
  std::vector<LeaveOneOut> leave_out;
  std::optional<Calibrated> calibrated;
};

Validation validate_cases(const std::vector<MeasuredCase>& cases, const Hardware& hardware);
std::string validation_text(const Validation& v, bool rows);
std::string validation_json(const Validation& v);
std::string validation_markdown(const Validation& v, const Hardware& hardware);

}  // namespace fabricast
