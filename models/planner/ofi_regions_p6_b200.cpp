// Regions of p6-b200.48xlarge [OFI-plugin].
//
// Corners are {bytes, ranks}. Names ending in `_end` are where a border leaves the plane, beyond the last corner that
// is given.
#include "ofi_regions.hpp"

namespace fabricast {

namespace {

using namespace ofi_words;

OfiRegions all_reduce_of_8() {
  constexpr OfiCorner ll_low{393216, 16}, ll_end(ll_low, {393216, 1024});
  constexpr OfiCorner ll128_a{96993280, 1024}, ll128_b{106430464, 2048}, ll128_end(ll128_a, ll128_b);
  constexpr OfiCorner nvls_a{10737418240, 512}, nvls_b{34359738368, 1500}, nvls_end(nvls_a, nvls_b);
  return {CollectiveOp::all_reduce,
          8,
          {ofi_region(tree, ll, {{0, 16}, ll_low, ll_end, {0, most_ranks}}),
           ofi_region(tree, ll128,
                      {ll_end,
                       ll_low,
                       {4718592, 16},
                       {18350080, 32},
                       {40370176, 64},
                       {57147392, 128},
                       {72876032, 256},
                       ll128_a,
                       ll128_b,
                       ll128_end}),
           ofi_region(ring, ll128, {{90701824, 128}, {50855936, 64}, {18350080, 32}, {133693440, 32}, {120061952, 64}}),
           ofi_region(nvlstree, simple,
                      {ll128_end,
                       ll128_b,
                       ll128_a,
                       {72876032, 256},
                       {57147392, 128},
                       {40370176, 64},
                       {18350080, 32},
                       {50855936, 64},
                       {90701824, 128},
                       {120061952, 64},
                       {133693440, 32},
                       {18350080, 32},
                       {4718592, 16},
                       {most_bytes, 16},
                       {435159040, 32},
                       {1072693248, 64},
                       nvls_a,
                       nvls_b,
                       nvls_end}),
           ofi_region(ring, simple, {nvls_end, nvls_a, {1072693248, 64}, {435159040, 32}, {most_bytes, 16}})}};
}

OfiRegions all_gather_of_8() {
  constexpr OfiCorner ll_a{74973184, 1024}, ll_b{213385216, 2048}, ll_end(ll_a, ll_b);
  constexpr OfiCorner ll128_a{8321499136, 512}, ll128_b{32212254720, 2048}, ll128_end(ll128_a, ll128_b);
  return {
      CollectiveOp::all_gather,
      8,
      {ofi_region(ring, ll,
                  {{0, 16},
                   {786432, 16},
                   {1572864, 32},
                   {2621440, 64},
                   {4718592, 128},
                   {17301504, 256},
                   ll_a,
                   ll_b,
                   ll_end,
                   {0, most_ranks}}),
       ofi_region(ring, ll128,
                  {ll_end,
                   ll_b,
                   ll_a,
                   {17301504, 256},
                   {4718592, 128},
                   {2621440, 64},
                   {1572864, 32},
                   {786432, 16},
                   {198705152, 16},
                   {456130560, 32},
                   {871366656, 64},
                   ll128_a,
                   ll128_b,
                   ll128_end}),
       ofi_region(ring, simple,
                  {ll128_end, ll128_b, ll128_a, {871366656, 64}, {456130560, 32}, {198705152, 16}, {most_bytes, 16}})}};
}

OfiRegions reduce_scatter_of_8() {
  constexpr OfiCorner ll_a{73924608, 1024}, ll_b{209190912, 2048}, ll_end(ll_a, ll_b);
  constexpr OfiCorner ll128_a{4294967296, 256}, ll128_b{8589934592, 512}, ll128_end(ll128_a, ll128_b);
  return {
      CollectiveOp::reduce_scatter,
      8,
      {ofi_region(ring, ll,
                  {{0, 16},
                   {786432, 16},
                   {1572864, 32},
                   {2621440, 64},
                   {4718592, 128},
                   {17301504, 256},
                   {35127296, 512},
                   ll_a,
                   ll_b,
                   ll_end,
                   {0, most_ranks}}),
       ofi_region(ring, ll128,
                  {ll_end,
                   ll_b,
                   ll_a,
                   {35127296, 512},
                   {17301504, 256},
                   {4718592, 128},
                   {2621440, 64},
                   {1572864, 32},
                   {786432, 16},
                   {219676672, 16},
                   {508559360, 32},
                   {592445440, 64},
                   ll128_a,
                   ll128_b,
                   ll128_end}),
       ofi_region(ring, simple,
                  {ll128_end, ll128_b, ll128_a, {592445440, 64}, {508559360, 32}, {219676672, 16}, {most_bytes, 16}})}};
}

OfiRegions all_reduce_of_1() {
  constexpr OfiCorner ring_right{107374182400, 45916}, tree_right{107374182400, 59831};
  return {
      CollectiveOp::all_reduce,
      1,
      {ofi_region(tree, ll, {{0, 2}, {32768, 2}, {32768, 128}, {32768, 131072}, {0, 131072}}),
       ofi_region(tree, ll128,
                  {{32768, 2}, {131072, 2}, {8388608, 128}, {8589934592, 131072}, {32768, 131072}, {32768, 128}}),
       ofi_region(ring, ll128,
                  {{131072, 2},
                   {3145728, 2},
                   {297795584, 128},
                   ring_right,
                   tree_right,
                   {164626432, 128},
                   {20971520, 48},
                   {3145728, 48}}),
       ofi_region(
           tree, simple,
           {{3145728, 48}, {20971520, 48}, {164626432, 128}, tree_right, {107374182400, 131072}, {8589934592, 131072}}),
       ofi_region(ring, simple, {{3145728, 2}, {107374182400, 2}, ring_right, {297795584, 128}})}};
}

OfiRegions all_gather_of_1() {
  return {CollectiveOp::all_gather,
          1,
          {ofi_region(ring, ll, {{0, 2}, {65536, 2}, {65536, 4}}),
           ofi_region(pat, simple,
                      {{0, 2},
                       {65536, 4},
                       {1048576, 4},
                       {4194305, 16},
                       {12582912, 48},
                       {88080384, 48},
                       {248512512, 128},
                       {34359738368, 17137},
                       {0, 131072}}),
           ofi_region(ring, ll128,
                      {{65536, 2},
                       {2097152, 2},
                       {16777216, 8},
                       {291504128, 128},
                       {34359738368, 15008},
                       {34359738368, 17137},
                       {248512512, 128},
                       {88080384, 48},
                       {12582912, 48},
                       {4194305, 16},
                       {1048576, 4},
                       {65536, 4}}),
           ofi_region(ring, simple,
                      {{2097152, 2}, {34359738368, 2}, {34359738368, 15008}, {291504128, 128}, {16777216, 8}})}};
}

OfiRegions reduce_scatter_of_1() {
  return {CollectiveOp::reduce_scatter,
          1,
          {ofi_region(ring, ll, {{0, 2}, {65536, 2}, {65536, 4}}),
           ofi_region(pat, simple,
                      {{0, 2},
                       {65536, 4},
                       {1048576, 4},
                       {3345192, 8},
                       {19065019, 16},
                       {67108864, 48},
                       {106954752, 48},
                       {274877906944, 121928},
                       {0, 131072}}),
           ofi_region(ring, ll128,
                      {{65536, 2},
                       {2097152, 2},
                       {16777216, 8},
                       {106954752, 48},
                       {67108864, 48},
                       {19065019, 16},
                       {3345192, 8},
                       {1048576, 4},
                       {65536, 4}}),
           ofi_region(ring, simple,
                      {{2097152, 2}, {274877906944, 2}, {274877906944, 121928}, {106954752, 48}, {16777216, 8}})}};
}

}  // namespace

const std::vector<OfiRegions>& ofi_regions_p6_b200() {
  static const std::vector<OfiRegions> all = {all_reduce_of_8(), all_gather_of_8(), reduce_scatter_of_8(),
                                              all_reduce_of_1(), all_gather_of_1(), reduce_scatter_of_1()};
  return all;
}

}  // namespace fabricast
