// Whether forecasts predict which of two configurations is faster.
//
// A pair is two measured configurations of one system that differ in one thing: algorithm, NVLS, SHARP, GPUDirect RDMA,
// channels and QPs, GPUs per node, number of nodes, network, NCCL version, or one other variable. At a size that both
// measured and at which they differ by more than 10 %, the forecast is right if it has the same one faster.
//
// Ratios are stored as natural logarithms. Pure functions; safe to call concurrently.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

/// ln(time of b / time of a) at one size, measured and forecast.
struct PairRow {
  std::int64_t bytes = 0;
  double measured = 0, forecast = 0;
  bool counts() const;  ///< whether the measured difference exceeds 10 %
  /// Whether the forecast has the same configuration faster.
  bool right() const { return forecast * measured > 0; }
};

/// Two configurations with all sizes that both measured.
struct ConfigurationPair {
  std::string aspect;  ///< what differs: `algorithm`
  std::string system, collective;
  std::string a, b;           ///< the two values: `ring` and `tree`
  std::string where;          ///< what is the same, as far as the system has alternatives: `4 nodes x 8 GPUs`
  std::vector<PairRow> rows;  ///< by size
  int counted() const;        ///< number of sizes that count
  int right() const;          ///< of these, the number that the forecast has right
  /// The size at which the faster configuration changes, over sizes that count. Null if it does not change exactly
  /// once.
  std::optional<double> crossing_measured() const;
  /// The same of the forecast, over all sizes. If the forecast changes several times in the measured direction, the
  /// size nearest to the measured one. Null without a measured crossing.
  std::optional<double> crossing_forecast() const;
  bool crossing_right() const;  ///< whether both cross, at sizes within a factor of two
};

/// A case with the forecast times of all its rows, s.
struct TimedCase {
  const MeasuredCase* measured = nullptr;
  std::vector<double> forecast;
};

/// All pairs, ordered by aspect, system and collective. Cases that agree in everything that pairs consider are repeats;
/// the median over them counts. Numbers of nodes and of GPUs are compared only with the next larger measured number.
/// Sizes within 1 % count as the same, because tools round to multiples of the ranks.
/// \pre `measured` points to cases that outlive the call
std::vector<ConfigurationPair> find_pairs(const std::vector<TimedCase>& cases);

/// Counts by aspect, and the pairs that are wrong somewhere, as text for people. Empty without pairs.
std::string directions_text(const std::vector<ConfigurationPair>& pairs);
/// The same as a section of docs/validation.md.
std::string directions_markdown(const std::vector<ConfigurationPair>& pairs);

}  // namespace fabricast
