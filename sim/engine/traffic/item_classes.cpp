// (1) and (2) of item_classes.hpp.
#include "item_classes.hpp"

#include <algorithm>

namespace fabricast {

void WeighedClasses::add(const ItemClasses::Item& item) {
  double& most = busy_[{item.in, item.owner}];
  most = std::max(most, item.busy);
}

std::vector<double> WeighedClasses::weights() const {
  std::vector<double> idle(classes_.size(), 1);
  std::vector<bool> there(classes_.size(), false);
  for (const auto& [of, busy] : busy_) {
    idle[of.first] *= 1 - busy;
    there[of.first] = true;
  }
  double sum = 0;
  for (std::size_t k = 0; k < classes_.size(); ++k)
    if (there[k] && !classes_[k].strict) sum += classes_[k].weight;
  std::vector<double> weights;
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    const double v = classes_[k].weight, others = sum - v, busy = 1 - idle[k];
    const bool alone = classes_[k].strict || !there[k] || others <= 0;
    // Weights are above 0, also of a class that hardly ever sends.
    weights.push_back(alone ? v : std::max(1e-12, v * busy / (busy + (1 - busy) * v / others)));
  }
  return weights;
}

}  // namespace fabricast
