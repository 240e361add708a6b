// Copies of tokens against all ways in which experts can be chosen, counted one by one.
#include "fabricast/workload/dispatcher.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <cstdint>
#include <vector>

#include "fabricast/workload/parallel.hpp"

namespace fabricast {
namespace {

/// Mean of `count` over all choices of `active` out of `experts`. \param count  function of a set of bits
template <class Count>
double mean_over_choices(int experts, int active, Count count) {
  double sum = 0, choices = 0;
  for (std::uint32_t chosen = 0; chosen < (1u << experts); ++chosen) {
    if (std::popcount(chosen) != active) continue;
    sum += count(chosen), choices += 1;
  }
  return sum / choices;
}

/// Parts that hold a chosen expert.
int touched(std::uint32_t chosen, int experts, int parts) {
  const int each = experts / parts;
  int n = 0;
  for (int p = 0; p < parts; ++p) n += ((chosen >> (p * each)) & ((1u << each) - 1)) != 0;
  return n;
}

TEST_CASE("reached_share matches the mean over all choices of experts") {
  const int experts = GENERATE(8, 12, 16), active = GENERATE(1, 2, 3, 6, 8), parts = GENERATE(1, 2, 4);
  if (experts % parts != 0) return;
  CAPTURE(experts, active, parts);
  const double mean = mean_over_choices(experts, active, [&](auto c) { return touched(c, experts, parts); });
  CHECK(parts * reached_share({experts, active}, parts) == Approx(mean));
}

TEST_CASE("groups limit the parts that a token reaches") {
  const int experts = 16, active = GENERATE(2, 3, 4), groups = GENERATE(2, 4, 8), open = GENERATE(1, 2, 3),
            parts = GENERATE(2, 4, 8, 16);
  if (open > groups || active > open * experts / groups) return;
  CAPTURE(active, groups, open, parts);
  // All choices of groups, and of experts of theirs: as many of each.
  double sum = 0, choices = 0;
  for (std::uint32_t chosen = 0; chosen < (1u << groups); ++chosen) {
    if (std::popcount(chosen) != open) continue;
    std::uint32_t allowed = 0;
    for (int e = 0; e < experts; ++e) allowed |= ((chosen >> (e * groups / experts)) & 1u) << e;
    for (std::uint32_t taken = 0; taken < (1u << experts); ++taken)
      if (std::popcount(taken) == active && (taken & ~allowed) == 0)
        sum += touched(taken, experts, parts), choices += 1;
  }
  CHECK(parts * reached_share({experts, active, groups, open}, parts) == Approx(sum / choices));
}

TEST_CASE("merged copies go once to each other domain, and once to each rank") {
  const int experts = 16, active = GENERATE(1, 2, 4), ranks = GENERATE(4, 8, 16), domains = GENERATE(1, 2, 4);
  CAPTURE(active, ranks, domains);
  const TokenCopies copies = merged_copies({experts, active}, ranks, domains);
  const double all = mean_over_choices(experts, active, [&](auto c) { return touched(c, experts, domains); });
  // Of all domains that a token touches, its own is one in `domains`.
  CHECK((domains - 1) * copies.between == Approx(all * (domains - 1) / domains));
  CHECK(copies.within ==
        Approx(mean_over_choices(experts, active, [&](auto c) { return touched(c, experts, ranks); })));
  // Never more than an alltoall sends, and as many where no two experts share a rank.
  CHECK(copies.within <= active * (1 + 1e-12));
  if (ranks == experts) CHECK(copies.within == Approx(active));
}

TEST_CASE("expert groups span domains evenly, or each rank counts alone") {
  CHECK(domains_of({{0, 1, 2, 3}, {4, 5, 6, 7}}, 8) == 1);
  CHECK(domains_of({{0, 1, 2, 3}, {4, 5, 6, 7}}, 2) == 2);
  CHECK(domains_of({{0, 2, 4, 6}, {1, 3, 5, 7}}, 4) == 2);
  CHECK(domains_of({{0, 8, 16}, {1, 9, 17}}, 8) == 3);
  // Two of a host and one of the next.
  CHECK(domains_of({{6, 7, 8}}, 8) == 3);
  // Not all alike.
  CHECK(domains_of({{0, 1}, {7, 8}}, 8) == 2);
}

TEST_CASE("permutations move a token twice to sort it and twice to restore its order") {
  // By the definition of 4 B: a number of 16 bits, read and written.
  CHECK(permutation_traffic(Dispatcher::alltoall, 4) == 16);
  CHECK(permutation_traffic(Dispatcher::alltoall, 1) == 8);
  CHECK(permutation_traffic(Dispatcher::deepep, 4) == 8);
  CHECK(permutation_traffic(Dispatcher::hybridep, 4) == 4);
}

}  // namespace
}  // namespace fabricast
