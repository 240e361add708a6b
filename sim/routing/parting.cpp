// Numbers of flows on equal-cost links if each flow takes one of n links at random:
//
//   (X_1 .. X_n)  ~  multinomial( flows; 1/n .. 1/n )                                                              (1)
//
// sampled as a chain of binomials [Devroye1986]: each remaining flow takes link i with probability 1 / (n - i + 1). A
// leaf distributes the flows that leave it over its uplinks, separately for those that continue to a core. A spine
// distributes the flows that its leaves send to cores. Downwards is the mirror image: the flows that enter a leaf come
// from any cable of its spines, and so on up.
#include <algorithm>
#include <bit>
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
  explicit Bits(const Rng& rng) : rng_(rng) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return rng_.next(); }
  Rng& rng() { return rng_; }

 private:
  Rng rng_;
};

using Binomial = boost::random::binomial_distribution<std::int64_t, double>;

/// Samples (1) and calls add(link, flows) for each link with flows.
template <class Add>
void part_over(std::uint64_t flows, std::uint32_t links, Bits& bits, Add add) {
  if (flows < links) {  // few flows: one random number for each is cheaper than a binomial for each link
    for (; flows > 0; --flows) add(static_cast<std::uint32_t>(bits.rng().below(links)), 1);
    return;
  }
  for (std::uint32_t i = 0; i + 1 < links && flows > 0; ++i) {
    const auto here = static_cast<std::uint64_t>(Binomial(static_cast<std::int64_t>(flows), 1.0 / (links - i))(bits));
    if (here > 0) add(i, here);
    flows -= here;
  }
  if (flows > 0) add(links - 1, flows);
}

/// Flows of `flows` that take one of two places: a random bit for each, which popcount sums 64 at a time.
std::uint64_t half_of(std::uint64_t flows, Bits& bits) {
  constexpr std::uint64_t many = 8192;
  if (flows > many) return static_cast<std::uint64_t>(Binomial(static_cast<std::int64_t>(flows), 0.5)(bits));
  std::uint64_t half = 0;
  for (; flows >= 64; flows -= 64) half += static_cast<std::uint64_t>(std::popcount(bits()));
  if (flows > 0) half += static_cast<std::uint64_t>(std::popcount(bits() >> (64 - flows)));
  return half;
}

/// A multinomial sample over equal places: halves of halves, as long as their number is even.
void part_alike(std::uint64_t flows, std::span<double> parts, Bits& bits) {
  if (flows == 0) return;
  if (parts.size() == 1) {
    parts[0] += static_cast<double>(flows);
    return;
  }
  if (parts.size() % 2 == 1) {
    // Up to here, a random number for each flow is cheaper than a binomial.
    constexpr std::uint64_t few = 32;
    if (flows <= few) {
      for (; flows > 0; --flows) parts[bits.rng().below(parts.size())] += 1;
      return;
    }
    const auto last = static_cast<std::uint64_t>(
        Binomial(static_cast<std::int64_t>(flows), 1.0 / static_cast<double>(parts.size()))(bits));
    parts.back() += static_cast<double>(last);
    return part_alike(flows - last, parts.first(parts.size() - 1), bits);
  }
  const std::uint64_t half = half_of(flows, bits);
  part_alike(half, parts.first(parts.size() / 2), bits);
  part_alike(flows - half, parts.subspan(parts.size() / 2), bits);
}

}  // namespace

void RandomSplit::operator()(std::uint32_t, double flows, const std::vector<std::uint32_t>& weights,
                             std::vector<double>& parts) {
  parts.assign(weights.size(), 0);
  Bits bits(rng_);
  auto left = static_cast<std::uint64_t>(flows);
  if (std::all_of(weights.begin(), weights.end(), [&](std::uint32_t weight) { return weight == weights[0]; })) {
    part_alike(left, parts, bits);
  } else {
    std::uint64_t all = 0;
    for (const std::uint32_t weight : weights) all += weight;
    for (std::size_t i = 0; i + 1 < weights.size() && left > 0; all -= weights[i++]) {
      const double part = static_cast<double>(weights[i]) / static_cast<double>(all);
      const auto here = static_cast<std::uint64_t>(Binomial(static_cast<std::int64_t>(left), part)(bits));
      parts[i] = static_cast<double>(here);
      left -= here;
    }
    parts.back() += static_cast<double>(left);
  }
  rng_ = bits.rng();
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
