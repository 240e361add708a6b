// Regions of p5en.48xlarge [OFI-plugin].
//
// Corners are {bytes, ranks}. Names ending in `_end` are where a border leaves the plane, beyond the last corner that
// is given.
#include "ofi_regions.hpp"

namespace fabricast {

namespace {

using namespace ofi_words;

OfiRegions all_reduce_of_8() {
  constexpr OfiCorner ll_high{196608, 1024}, ll_end({196608, 192}, ll_high);
  constexpr OfiCorner ll128_a{129499136, 127}, ll128_b{218103808, 1024}, ll128_end(ll128_a, ll128_b);
  constexpr OfiCorner nvls_a{7516192768, 256}, nvls_b{17179869184, 448}, nvls_end(nvls_a, nvls_b);
  return {CollectiveOp::all_reduce,
          8,
          {ofi_region(tree, ll, {{0, 16}, {196608, 16}, ll_high, ll_end, {0, most_ranks}}),
           ofi_region(tree, ll128, {ll_end, ll_high, {196608, 16}, {13107200, 16}, ll128_a, ll128_b, ll128_end}),
           ofi_region(ring, ll128,
                      {ll128_a, {13107200, 16}, {29884416, 16}, {293601280, 32}, {589299712, 64}, {549453824, 128}}),
           ofi_region(nvlstree, simple,
                      {ll128_end,
                       ll128_b,
                       ll128_a,
                       {549453824, 128},
                       {589299712, 64},
                       {293601280, 32},
                       {29884416, 16},
                       {most_bytes, 16},
                       {509607936, 32},
                       nvls_a,
                       nvls_b,
                       nvls_end}),
           ofi_region(ring, simple, {nvls_end, nvls_b, nvls_a, {509607936, 32}, {most_bytes, 16}})}};
}

OfiRegions all_gather_of_8() {
  constexpr OfiCorner ll_a{28305408, 768}, ll_b{33554432, 1024}, ll_end(ll_a, ll_b);
  constexpr OfiCorner ll128_a{7247754240, 384}, ll128_b{17179865088, 896}, ll128_end(ll128_a, ll128_b);
  return {
      CollectiveOp::all_gather,
      8,
      {ofi_region(ring, ll,
                  {{0, 16},
                   {786432, 16},
                   {4718592, 128},
                   {13630464, 384},
                   {19922944, 512},
                   ll_a,
                   ll_b,
                   ll_end,
                   {0, most_ranks}}),
       ofi_region(ring, ll128,
                  {ll_end,
                   ll_b,
                   ll_a,
                   {19922944, 512},
                   {13630464, 384},
                   {4718592, 128},
                   {786432, 16},
                   {236978176, 16},
                   {956301312, 64},
                   ll128_a,
                   ll128_b,
                   ll128_end}),
       ofi_region(ring, simple,
                  {ll128_end, ll128_b, ll128_a, {956301312, 64}, {494927872, 32}, {236978176, 16}, {most_bytes, 16}})}};
}

OfiRegions reduce_scatter_of_8() {
  constexpr OfiCorner ll_a{7340032, 256}, ll_b{18874368, 512}, ll_end(ll_a, ll_b);
  constexpr OfiCorner ll128_a{7247757312, 256}, ll128_b{17179869184, 640}, ll128_end(ll128_a, ll128_b);
  return {CollectiveOp::reduce_scatter,
          8,
          {ofi_region(ring, ll, {{0, 16}, {786432, 16}, {4718592, 128}, ll_a, ll_b, ll_end, {0, most_ranks}}),
           ofi_region(ring, ll128,
                      {ll_end,
                       ll_b,
                       ll_a,
                       {4718592, 128},
                       {786432, 16},
                       {291504128, 16},
                       {589299712, 32},
                       {2415919104, 128},
                       ll128_a,
                       ll128_b,
                       ll128_end}),
           ofi_region(
               ring, simple,
               {ll128_end, ll128_b, ll128_a, {2415919104, 128}, {589299712, 32}, {291504128, 16}, {most_bytes, 16}})}};
}

// Regions of nodes with one GPU.
constexpr OfiCorner pat_a{50331648, 64}, pat_b{117440512, 128}, pat_end(pat_a, pat_b);
constexpr OfiCorner ring_a{50331648, 16}, ring_b{301989888, 128}, ring_end(ring_a, ring_b);

OfiRegions all_reduce_of_1() {
  constexpr OfiCorner tree_b{1048576, 96}, tree_end({524288, 8}, tree_b);
  constexpr OfiCorner simple_b{33554432, 128}, simple_end({8388608, 32}, simple_b);
  return {CollectiveOp::all_reduce,
          1,
          {ofi_region(tree, ll, {{0, 2}, {65536, 2}, {65536, 64}, {65536, most_ranks}}),
           ofi_region(tree, ll128,
                      {{65536, most_ranks},
                       {65536, 64},
                       {65536, 2},
                       {262144, 2},
                       {1048576, 4},
                       {4194304, 8},
                       {16777216, 16},
                       {33554432, 32},
                       {1048576, 32},
                       tree_b,
                       tree_end}),
           ofi_region(tree, simple, {tree_end, tree_b, {1048577, 32}, {33554431, 32}, simple_b, simple_end}),
           ofi_region(ring, ll128,
                      {simple_end,
                       simple_b,
                       {33554433, 32},
                       {16777217, 16},
                       {4194305, 8},
                       {1048577, 4},
                       {262144, 2},
                       {6291456, 2},
                       ring_a,
                       ring_b,
                       ring_end}),
           ofi_region(ring, simple, {ring_end, ring_b, ring_a, {6291456, 2}, {most_bytes, 2}})}};
}

OfiRegions all_gather_of_1() {
  return {CollectiveOp::all_gather,
          1,
          {ofi_region(pat, simple,
                      {{0, 2},
                       {65536, 2},
                       {1048576, 2},
                       {8388608, 8},
                       {16777216, 16},
                       {16777216, 32},
                       pat_a,
                       pat_b,
                       pat_end,
                       {most_bytes, most_ranks},
                       {65536, most_ranks},
                       {0, most_ranks}}),
           ofi_region(ring, ll128,
                      {pat_end,
                       pat_b,
                       pat_a,
                       {16777216, 32},
                       {16777217, 16},
                       {8388609, 8},
                       {1048576, 2},
                       {4194304, 2},
                       ring_a,
                       ring_b,
                       ring_end}),
           ofi_region(ring, simple, {ring_end, ring_b, ring_a, {4194304, 2}, {most_bytes, 2}})}};
}

OfiRegions reduce_scatter_of_1() {
  return {CollectiveOp::reduce_scatter,
          1,
          {ofi_region(pat, simple,
                      {{0, 2},
                       {65536, 2},
                       {1048576, 2},
                       {16777216, 32},
                       pat_a,
                       pat_b,
                       pat_end,
                       {most_bytes, most_ranks},
                       {65536, most_ranks},
                       {0, most_ranks}}),
           ofi_region(ring, ll128,
                      {pat_end, pat_b, pat_a, {16777216, 32}, {1048576, 2}, {4194304, 2}, ring_a, ring_b, ring_end}),
           ofi_region(ring, simple, {ring_end, ring_b, ring_a, {4194304, 2}, {most_bytes, 2}})}};
}

}  // namespace

const std::vector<OfiRegions>& ofi_regions_p5en() {
  static const std::vector<OfiRegions> all = {all_reduce_of_8(), all_gather_of_8(), reduce_scatter_of_8(),
                                              all_reduce_of_1(), all_gather_of_1(), reduce_scatter_of_1()};
  return all;
}

}  // namespace fabricast
