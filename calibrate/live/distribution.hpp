// Quantiles of any number of positive values in bounded memory: exact up to 4,096 values, and to 0.1 % beyond.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace fabricast::live {

class Distribution {
 public:
  /// \pre value >= 0
  void add(double value);
  std::int64_t count() const { return count_; }
  /// The value below which the fraction `q` lies: of the exact values the two nearest, weighted; of many values the
  /// middle of their class. 0 if there are none.
  /// \pre 0 <= q <= 1
  double quantile(double q) const;

 private:
  static constexpr std::size_t most_exact = 4096;
  mutable std::vector<double> values_;
  mutable bool sorted_ = true;
  std::map<std::int64_t, std::int64_t> classes_;  ///< number of values by the leading bits of their representation
  std::int64_t count_ = 0;
};

}  // namespace fabricast::live
