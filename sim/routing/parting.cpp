// Numbers of flows on equal-cost links if each flow takes one of n links at random:
//
//   (X_1 .. X_n)  ~  multinomial( flows; 1/n .. 1/n )                                                              (1)
//
// sampled as a chain of binomials [Devroye1986]: each remaining flow takes link i with probability 1 / (n - i + 1). A
// leaf distributes the flows that leave it over its uplinks, separately for those that continue to a core. A spine
// distributes the flows that its leaves send to cores. Downwards is the mirror image: the flows that enter a leaf come
// from any cable of its spines, and so on up.
#include <boost/random/binomial_distribution.hpp>

#include "fabricast/core/rng.hpp"
#include "router.hpp"

namespace fabricast {

namespace {

/// A random generator with the interface that Boost.Random needs.
class Bits {
 public:
  using result_type = std::uint64_t;
  explicit Bits(std::uint64_t seed) : rng_(seed) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return rng_.next(); }
  Rng& rng() { return rng_; }

 private:
  Rng rng_;
};

/// Samples (1) and calls add(link, flows) for each link with flows.
template <class Add>
void part_over(std::uint64_t flows, std::uint32_t links, Bits& bits, Add add) {
  if (flows < links) {  // few flows: one random number for each is cheaper than a binomial for each link
    for (; flows > 0; --flows) add(static_cast<std::uint32_t>(bits.rng().below(links)), 1);
    return;
  }
  for (std::uint32_t i = 0; i + 1 < links && flows > 0; ++i) {
    using Binomial = boost::random::binomial_distribution<std::int64_t, double>;
    const auto here = static_cast<std::uint64_t>(Binomial(static_cast<std::int64_t>(flows), 1.0 / (links - i))(bits));
    if (here > 0) add(i, here);
    flows -= here;
  }
  if (flows > 0) add(links - 1, flows);
}

}  // namespace

void RandomSplit::operator()(std::uint32_t from, double flows, const std::vector<std::uint32_t>& weights,
                             std::vector<double>& parts) {
  parts.assign(weights.size(), 0);
  if (weights.size() == 1) {
    parts[0] = flows;
    return;
  }
  Bits bits(mix64(seed_ ^ mix64(++calls_ << 32 | from)));
  std::uint64_t all = 0;
  for (const std::uint32_t weight : weights) all += weight;
  auto left = static_cast<std::uint64_t>(flows);
  // Up to here, a random number for each flow is cheaper than a binomial for each place.
  constexpr std::uint64_t drawn_each = 16;
  if (left <= drawn_each * weights.size() && all <= 1024) {
    const bool alike = all == weights.size();
    for (; left > 0; --left) {
      std::uint64_t at = bits.rng().below(all);
      std::size_t place = 0;
      if (alike)
        place = at;
      else
        for (; at >= weights[place]; ++place) at -= weights[place];
      parts[place] += 1;
    }
    return;
  }
  using Binomial = boost::random::binomial_distribution<std::int64_t, double>;
  for (std::size_t i = 0; i + 1 < weights.size() && left > 0; all -= weights[i++]) {
    const double part = static_cast<double>(weights[i]) / static_cast<double>(all);
    const auto here = static_cast<std::uint64_t>(Binomial(static_cast<std::int64_t>(left), part)(bits));
    parts[i] = static_cast<double>(here);
    left -= here;
  }
  parts.back() += static_cast<double>(left);
}

void part_at_random(const Clos& clos, std::span<const LeafFlows> by_leaf, std::uint64_t seed,
                    const std::function<void(std::uint32_t, std::uint64_t)>& add) {
  for (const bool down : {false, true}) {
    std::vector<std::uint64_t> far(clos.spines());  // flows between spines and cores
    const std::uint32_t direction = down ? 1 : 0;
    for (std::uint32_t leaf = 0; leaf < by_leaf.size(); ++leaf) {
      Bits bits(mix64(seed ^ (2 * std::uint64_t{leaf} + direction)));
      const auto link = [&](std::uint32_t j) { return clos.leaf_to_spine(leaf, j) + direction; };
      part_over(down ? by_leaf[leaf].near_in : by_leaf[leaf].near_out, clos.leaf_up, bits,
                [&](std::uint32_t j, std::uint64_t flows) { add(link(j), flows); });
      part_over(down ? by_leaf[leaf].far_in : by_leaf[leaf].far_out, clos.leaf_up, bits,
                [&](std::uint32_t j, std::uint64_t flows) {
                  add(link(j), flows);
                  far[clos.spine_of(leaf, j)] += flows;
                });
    }
    for (std::uint32_t spine = 0; spine < far.size(); ++spine) {
      Bits bits(mix64(~seed ^ (2 * std::uint64_t{spine} + direction)));
      part_over(far[spine], clos.spine_up, bits,
                [&](std::uint32_t j, std::uint64_t flows) { add(clos.spine_to_core(spine, j) + direction, flows); });
    }
  }
}

}  // namespace fabricast
