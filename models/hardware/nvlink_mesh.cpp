// NVLinks between the GPUs of a host without NVSwitch.
//
// If a GPU has no more peers than links, all pairs are connected and the links are spread evenly. Eight GPUs with four
// or six links form the hybrid cube mesh of DGX-1, HGX-1, p3dn and ND40rs_v2: each half of the board is fully
// connected, and one link connects each GPU to its partner in the other half. With the six links of a V100, two of its
// four bundles are double [DGX-1].
//
//   links of g = sum over p of n_gp = 4 or 6,   n_gp = n_pg (1)
#include <algorithm>
#include <array>

#include "node_parts.hpp"

namespace fabricast {

namespace {

constexpr int cube_gpus = 8, cube_neighbours = 4, cube_links = 6;

// Links between GPUs a and b of the boards with six links, as `nvidia-smi topo -m` prints them.
constexpr std::array<std::array<int, cube_gpus>, cube_gpus> cube_mesh = {{
    {0, 1, 1, 2, 2, 0, 0, 0},
    {1, 0, 2, 1, 0, 2, 0, 0},
    {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2},
    {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2},
    {0, 0, 0, 1, 2, 1, 2, 0},
}};

}  // namespace

bool has_nvlink_mesh(int gpus, int nvlinks) {
  return gpus <= nvlinks + 1 || (gpus == cube_gpus && (nvlinks == cube_neighbours || nvlinks == cube_links));
}

double mesh_nvlinks(int gpus, int nvlinks, int a, int b) {
  if (a == b) return 0;
  if (gpus <= nvlinks + 1) return static_cast<double>(nvlinks) / (gpus - 1);
  const int bundle = cube_mesh[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  // With four links (Pascal) all bundles are single.
  return nvlinks == cube_links ? bundle : std::min(bundle, 1);
}

}  // namespace fabricast
