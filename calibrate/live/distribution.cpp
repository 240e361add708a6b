// Quantiles of a stream. Beyond 4,096 values they are counted in classes of equal relative width, by exponent and the
// leading nine bits of the mantissa: any two values of a class differ by less than 1/512.
#include "distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fabricast::live {

namespace {
constexpr int dropped_bits = 52 - 9;
std::int64_t class_of(double value) { return std::bit_cast<std::int64_t>(value) >> dropped_bits; }
double middle_of(std::int64_t number) {
  return std::bit_cast<double>((number << dropped_bits) + (std::int64_t{1} << (dropped_bits - 1)));
}
}  // namespace

void Distribution::add(double value) {
  ++count_;
  if (classes_.empty() && values_.size() < most_exact) {
    sorted_ = sorted_ && (values_.empty() || values_.back() <= value);
    values_.push_back(value);
    return;
  }
  for (const double v : values_) ++classes_[class_of(v)];
  values_.clear();
  values_.shrink_to_fit();
  ++classes_[class_of(value)];
}

double Distribution::quantile(double q) const {
  if (count_ == 0) return 0;
  const double at = q * static_cast<double>(count_ - 1);
  if (classes_.empty()) {
    if (!sorted_) std::sort(values_.begin(), values_.end());
    sorted_ = true;
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, values_.size() - 1);
    const double share = at - static_cast<double>(low);
    return values_[low] + (values_[high] - values_[low]) * share;
  }
  std::int64_t before = 0;
  const auto rank = static_cast<std::int64_t>(std::llround(at));
  for (const auto& [number, here] : classes_) {
    before += here;
    if (before > rank) return middle_of(number);
  }
  return middle_of(classes_.rbegin()->first);
}

}  // namespace fabricast::live
