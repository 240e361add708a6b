// NCCL's constants, release by release: each entry changes the one before (cost_constants.hpp). They are facts of
// NCCL's source, read at its tags from 2.7.8 to 2.30.7 [NCCL-tags]; tests/unit/planner/nccl_costs_test.cpp compares
// them, with the formulas, to what that source computes.
#include "cost_constants.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace fabricast {

namespace {

using namespace cost_index;

constexpr std::size_t nvlink = 0, pci = 1, net = 2;
constexpr std::size_t ampere = 1, hopper = 2, blackwell = 3;
constexpr std::size_t ll = 0, ll128 = 1, simple = 2;
constexpr double no_limit = std::numeric_limits<double>::infinity();

struct Release {
  NcclVersion since;
  CostConstants constants;
};

/// The constants of 2.7.
CostConstants oldest() {
  constexpr PerProtocol<double> none = {0, 0, 0};
  CostConstants c{};
  c.base = {{{4.4, 4.4, 0}, {3.6, 10, 8.4}, {4.4, 4.4, 0}, {4.4, 4.4, 0}, {0, 0, 40}, none, none}};
  c.hop[nvlink] = {{{.52, 1.2, 28}, {.47, 1.9, 3.4}, {0, 0, 4}, {0, 0, 4}, none, none, none}};
  c.hop[pci] = {{{1, 1.9, 28}, {1, 2.5, 5.7}, {0, 0, 5.5}, {0, 0, 5.5}, none, none, none}};
  c.hop[net] = {{{5, 8.5, 50}, {2.7, 4, 9.6}, {0, 0, 10.7}, {0, 0, 10.7}, none, none, none}};
  for (auto& row : c.ll) row.fill(no_limit);
  // Before 2.10 these caps depend on the operation: see the formula.
  for (auto& row : c.ring_ll128) row.fill(no_limit);
  c.tree_ll128 = c.ring_ll128;
  for (auto& row : c.tree) row.fill(no_limit);
  c.nvlstree = c.tree;
  c.tree_correction = {
      {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
       {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1, 1, 1},
       {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9, 1, 1}}};
  return c;
}

std::vector<Release> make_releases() {
  std::vector<Release> list;
  CostConstants c = oldest();
  const auto since = [&](int minor, int patch = 0) { list.push_back({{2, minor, patch}, c}); };
  since(0);

  c.hop[nvlink][tree][ll128] = 1.25;
  c.hop[net][tree][simple] = 28;
  c.ll = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {87.7, 22.5, 19}, {87.7, 22.5, 19}}};
  c.tree = {{{26.5, 18.5, 10}, {24, 22.5, 16}, {24, 22.5, 16}, {24, 22.5, 16}}};
  c.tree_correction[ll128] = {1,  1,  1,  1,  1,  .9, .8, .8, .8, .7,  .6,  .6,
                              .6, .5, .6, .6, .7, .7, .8, .9, .9, .92, .92, 1};
  c.tree_correction[simple] = {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
                               .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9};
  since(8);

  for (const std::size_t a : {direct, chain}) c.hop[nvlink][a][simple] = c.hop[pci][a][simple] = 8;
  for (auto& row : c.ring_ll128) row.fill(20);
  c.tree_ll128 = c.ring_ll128;
  c.tree[ampere] = c.tree[hopper] = c.tree[blackwell] = {24, 23.6, 17.8};
  c.tree_correction[ll128] = {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1};
  since(10);

  c.hop[net][ring][simple] = 28;
  since(12);

  c.hop[net][ring][simple] = 9.6;
  since(14);

  for (const std::size_t row : {hopper, blackwell}) {
    c.ring_ll128[row] = c.tree_ll128[row] = {36.7, 36.7, 36.7};
    c.tree[row] = {38.7, 41.4, 33};
  }
  since(17);

  c.base = {{{6.8, 14, 0}, {6.6, 14, 8.4}, {6.8, 14, 0}, {6.8, 14, 0}, {0, 0, 23}, {0, 0, 23}, {0, 0, 0}}};
  c.hop[nvlink][tree][ll] = c.hop[nvlink][ring][ll] = .6;
  c.hop[nvlink][chain][simple] = 4.75;
  c.hop[net][chain][simple] = 14;
  c.hop[net][ring][simple] = 14;
  c.hop[net][nvls][simple] = 18;
  c.hop[net][nvlstree][simple] = 19;
  since(18);

  c.hop[nvlink][tree][simple] = 4;
  c.hop[pci][tree][simple] = 6;
  c.hop[net][tree][simple] = 14;
  for (const std::size_t row : {hopper, blackwell}) {
    c.tree_ll128[row][2] = 29;
    c.tree[row][2] = 36;
  }
  since(18, 3);

  // Trees became as slow as before, until 2.23.
  for (auto& link : c.hop) {
    link[tree][simple] = 28;
    link[direct][simple] = 3.7;
    link[chain][simple] = 2.8;
  }
  c.hop[net][direct][simple] = 31;
  c.hop[net][chain][simple] = 30;
  for (const std::size_t a : {direct, chain, nvls, nvlstree}) c.base[a] = {0, 0, 0};
  c.hop[nvlink][nvls][simple] = c.hop[nvlink][nvlstree][simple] = 23;
  c.hop[net][nvlstree][simple] = 14;
  since(19);

  c.hop[nvlink][nvls][simple] = c.hop[nvlink][nvlstree][simple] = 25;
  c.ll[hopper] = c.ll[blackwell] = {141, 45, 35};
  since(21);

  c.base[tree][simple] = 8.4;
  c.base[pat] = {8, 8, 8};
  c.hop[nvlink][tree][simple] = c.hop[pci][tree][simple] = 4;
  c.hop[net][tree][simple] = 14;
  c.hop[nvlink][pat][simple] = c.hop[pci][pat][simple] = 4;
  c.hop[net][pat][simple] = 14;
  since(23);

  c.ll[blackwell] = {282, 90, 70};
  c.ring_ll128[blackwell] = {73.4, 73.4, 73.4};
  c.tree_ll128[blackwell] = {73.4, 73.4, 58};
  c.tree[blackwell] = {77.4, 82.8, 72};
  since(25);

  c.tree_ll128[blackwell] = {55.6, 31.67, 20};
  c.tree[blackwell] = {70, 42.8, 24};
  c.nvlstree = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.1}}};
  since(28);

  c.ring_ll128[blackwell][1] = 34.6;
  since(28, 7);

  c.hop[net][nvlstree][simple] = 20.9;
  c.nvlstree[blackwell][2] = 43.8;
  since(28, 9);

  c.ring_ll128[blackwell] = {34.5, 34.6, 34.5};
  since(29, 2);

  c.ring_ll128[blackwell] = {40, 40, 40};
  since(29, 7);

  c.nvlstree[blackwell][2] = 80;
  since(30, 3);
  return list;
}

}  // namespace

const CostConstants& cost_constants(const NcclVersion& version) {
  static const std::vector<Release> releases = make_releases();
  return std::find_if(releases.rbegin(), releases.rend(), [&](const Release& r) { return r.since <= version; })
      ->constants;
}

}  // namespace fabricast
