// Forecasts against measurements: errors by system and size band.
//
// Error of a row: |ln(forecast / measured)|. Of a system in a band: exp(median over its rows) - 1, so 10 % means that
// half of its rows are within a factor 1.10 either way. Each system counts once, however many cases it has.
#pragma once

#include <map>
#include <optional>

#include "fabricast/calibrate/directions.hpp"
#include "fabricast/calibrate/levels.hpp"
#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// 90 % interval of a median over systems, by a bootstrap over them: differences inside it say nothing [Efron1993].
struct MedianInterval {
  double low = 0, high = 0;
};
/// `1.2 to 3.4`, in percent; empty where there is none.
std::string percent_text(const std::optional<MedianInterval>& interval);

/// Our forecasts beside NCCL's own estimates, on the rows for which it makes one: those of rings, trees, NVLS, CollNet and
/// PAT, not sends and receives. A cell is a system in a band.
struct BesideNccl {
  BandValues ours{}, nccl{};                        ///< median over systems of their errors
  std::array<int, bands.size()> nearer{}, cells{};  ///< cells in which our error is the smaller one, and all
};
BesideNccl beside_nccl(const std::vector<ErrorRow>& rows);

struct ErrorTable {
  struct Cell {
    double error = 0;  ///< exp(median |ln ratio|) - 1
    double bias = 0;   ///< exp(median ln ratio) - 1
    int rows = 0;
  };
  std::map<std::string, std::array<Cell, bands.size()>> systems;  ///< [system][band]
  BandValues median{}, worst_decile{}, mean{};
  /// [band]. None below five systems: more often than in 10 % all of them are on one side of the median of all.
  std::array<std::optional<MedianInterval>, bands.size()> median_interval{};
  /// Share of rows whose measurement lies within the forecast's 90 % interval, each system counted once; 0: no intervals.
  BandValues covered{};
  BandValues width{};  ///< median over systems of the interval's factor less one
  BesideNccl beside_nccl;
  int rows = 0;
  bool has_intervals() const { return width != BandValues{}; }
};
ErrorTable error_table(const std::vector<ErrorRow>& rows);
/// Median over systems of their errors, as of a band, below 1 MiB and from there on; 0 where there are none.
std::array<double, 2> error_halves(const std::vector<ErrorRow>& rows);
/// Adds the rows of a case.
void add_errors(const std::string& system, const ForecastOfCase& forecast, std::vector<ErrorRow>& errors);

/// What is left out together: a system alone, all of one site (a place, a provider's node type or an author), all of one
/// kind (a GPU generation on a kind of network, or of node where there is none), or a fifth of the sites, which are dealt
/// in turn by name: quicker than one site after the other.
enum class LeftOut { system, site, kind, fifth };
template <>
struct EnumNames<LeftOut> {
  static constexpr std::array<std::string_view, 4> names{"system", "site", "kind", "fifth"};
};

struct CaseResult {
  std::string id, system;
  ForecastOfCase forecast;
};

/// The errors of all rows.
std::vector<ErrorRow> errors_of(const std::vector<CaseResult>& cases);

/// How far off forecasts are for systems that the fit has not seen; both by parameters fitted for the table.
struct LeaveOneOut {
  LeftOut by = LeftOut::system;
  ErrorTable in_sample, left_out;
  Levels levels{};                   ///< of systems left out
  std::vector<LevelCause> causes{};  ///< of the same
  std::vector<CaseResult> cases{};   ///< by fits that have not seen them
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
