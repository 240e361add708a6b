// Regions of p5.48xlarge and p5e.48xlarge [OFI-plugin].
//
// A corner is {bytes, ranks}. Corners that neighbouring regions share have names, so that their borders coincide. A
// region of three corners whose first and last are equal is a segment: it holds for exactly one number of ranks.
#include "ofi_regions.hpp"

namespace fabricast {

namespace {

using namespace ofi_words;
constexpr auto at_zero = OfiCorner::Kind::extended_at_zero;

OfiRegions all_reduce_of_8() {
  // `up` and `right` are where two borders leave the plane.
  constexpr OfiCorner low{402653184, 2048}, high{402653184, 4096}, up(low, high);
  constexpr OfiCorner a{8053063680, 160}, b{9663676416, 192}, right(a, b);
  return {CollectiveOp::all_reduce,
          8,
          {ofi_region(tree, ll128,
                      {{0, 16},
                       {31457280, 16},
                       {37748736, 32},
                       {117440512, 64},
                       {301989888, 128},
                       {301989888, 256},
                       {335544320, 512},
                       {536870912, 1024},
                       low,
                       high,
                       up,
                       {low, high, at_zero}}),
           ofi_region(nvlstree, simple, {{31457281, 16}, {most_bytes, 16}, {31457281, 16}}),
           ofi_region(ring, ll128,
                      {{31457280, 17},
                       {1073741824, 17},
                       {2147483648, 64},
                       {2147483648, 128},
                       {1342177280, 160},
                       {2147483648, 256},
                       {1074790400, 256},
                       {444596224, 160},
                       {301989888, 128},
                       {117440512, 64},
                       {37748736, 32}}),
           ofi_region(nvlstree, simple,
                      {{2147483648, 128},
                       {6442450944, 128},
                       a,
                       b,
                       right,
                       up,
                       high,
                       low,
                       {536870912, 1024},
                       {335544320, 512},
                       {301989888, 256},
                       {310378496, 160},
                       {444596224, 160},
                       {1074790400, 256},
                       {2684354560, 256},
                       {2147483648, 224},
                       {1342177280, 160}}),
           ofi_region(ring, simple,
                      {{1073741824, 17}, {most_bytes, 17}, right, b, a, {2684354560, 64}, {1610612736, 32}})}};
}

// Two GPUs of each node: the plugin has these regions for all_reduce on p5 only.
OfiRegions all_reduce_of_2() {
  constexpr OfiCorner tree_a{88160256, 128}, tree_b{178163712, 256};
  constexpr OfiCorner wide_a{787480576, 128}, wide_b{1073741824, 256}, wide(wide_a, wide_b);
  constexpr OfiCorner ring_a{257114112, 128}, ring_b{269484032, 256};
  return {
      CollectiveOp::all_reduce,
      2,
      {ofi_region(tree, ll128,
                  {{0, 4},
                   {1314816, 4},
                   {1051648, 8},
                   {1051648, 12},
                   {2367488, 16},
                   {5525504, 32},
                   {9473024, 64},
                   tree_a,
                   tree_b,
                   {tree_a, tree_b},
                   {tree_a, tree_b, at_zero}}),
       ofi_region(ring, ll128,
                  {{1314816, 4},
                   {19736576, 4},
                   {41842688, 8},
                   {296747008, 64},
                   ring_a,
                   ring_b,
                   tree_b,
                   tree_a,
                   {9473024, 64},
                   {5525504, 32},
                   {2367488, 16},
                   {1051648, 12},
                   {1051648, 8}}),
       ofi_region(nvlstree, simple,
                  {{19736576, 4}, {81844224, 4}, {275775488, 8}, {275775488, 48}, {296747008, 64}, {41842688, 8}}),
       ofi_region(tree, ll128, {{81844224, 4}, {269484032, 4}, {81844224, 4}}),
       ofi_region(tree, simple, {{269484032, 4}, {most_bytes, 4}, {269484032, 4}}),
       ofi_region(ring, simple,
                  {{81844224, 5},
                   {most_bytes, 5},
                   {most_bytes, 32},
                   {1073741824, 40},
                   {1073741824, 128},
                   wide_a,
                   {296747008, 64},
                   {275775488, 48},
                   {275775488, 8}}),
       ofi_region(tree, simple, {{296747008, 64}, wide_a, wide_b, wide, {ring_a, ring_b}, ring_b, ring_a}),
       ofi_region(nvlstree, simple, {wide, wide_b, wide_a, {1073741824, 128}, {1073741824, 40}, {most_bytes, 32}})}};
}

OfiRegions all_reduce_of_1() {
  constexpr OfiCorner tree_a{9999360, 64}, tree_b{119477248, 128}, tree_end(tree_a, tree_b);
  constexpr OfiCorner ring_a{4736000, 2}, ring_b{269484032, 128}, ring_end(ring_a, ring_b);
  return {
      CollectiveOp::all_reduce,
      1,
      {ofi_region(tree, ll128, {{0, 16}, {2367488, 16}, tree_a, tree_b, tree_end, {0, most_ranks}}),
       ofi_region(ring, ll128, {{0, 2}, ring_a, ring_b, ring_end, tree_end, tree_b, tree_a, {2367488, 16}, {0, 16}}),
       ofi_region(ring, simple, {ring_a, {most_bytes, 2}, ring_end, ring_b})}};
}

/// Simple for large calls; NCCL chooses for the others.
OfiRegions long_of_1(CollectiveOp op, OfiCorner a, OfiCorner b) {
  return {op, 1, {ofi_region(ring, simple, {a, {most_bytes, 2}, {a, b}, b})}};
}

}  // namespace

const std::vector<OfiRegions>& ofi_regions_p5() {
  static const std::vector<OfiRegions> all = {
      all_reduce_of_8(), all_reduce_of_2(), all_reduce_of_1(),
      long_of_1(CollectiveOp::all_gather, {4194304, 2}, {8589934592, 2048}),
      long_of_1(CollectiveOp::reduce_scatter, {8388608, 2}, {4294967296, 1024})};
  return all;
}

}  // namespace fabricast
