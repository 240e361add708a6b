// Whether forecasts tell which of two configurations is faster.
//
// A pair is two measured configurations of one system that differ in one thing: algorithm, NVLS, SHARP, GPUDirect RDMA,
// channels and QPs, GPUs per node, number of nodes, network, NCCL version, or one more variable. At a size that both
// measured, and where they differ by over 10 %, the forecast is right if it has the same one faster.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

/// Two forecasts and two measurements at a size, as ln(time of b / time of a).
struct PairRow {
  std::int64_t bytes = 0;
  double measured = 0, forecast = 0;
  bool counts() const;  ///< the measured difference exceeds 10 %
  bool right() const { return forecast * measured > 0; }
};

struct ConfigurationPair {
  std::string aspect, system, collective;
  std::string a, b;   ///< what differs, e.g. `ring` and `tree`
  std::string where;  ///< what is alike, as far as the system has others: `4 nodes x 8 GPUs`
  std::vector<PairRow> rows;
  int counted() const;
  int right() const;
  /// Size where the faster one changes, if it does once; by differences over 10 % as measured, by any as forecast.
  /// Of several sizes where the forecast changes in the measured sense, the one nearest to the measured size.
  std::optional<double> crossing_measured() const;
  std::optional<double> crossing_forecast() const;
  bool crossing_right() const;  ///< both cross, within a factor two
};

/// A case with its forecast times (s) of all its rows.
struct TimedCase {
  const MeasuredCase* measured = nullptr;
  std::vector<double> forecast;
};

/// All pairs, ordered by aspect and system. Cases alike in everything that pairs look at are repeats: the median of them
/// counts. Numbers of nodes and of GPUs are compared with the next one measured, all else with each other. Sizes are
/// the same if they are within 1 %, as tools round to multiples of the ranks.
std::vector<ConfigurationPair> find_pairs(const std::vector<TimedCase>& cases);

/// Counts by what differs, and the wrong pairs.
std::string directions_text(const std::vector<ConfigurationPair>& pairs);
/// The same as a section of the page, with all pairs.
std::string directions_markdown(const std::vector<ConfigurationPair>& pairs);

}  // namespace fabricast
