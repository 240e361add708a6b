#include "fabricast/workload/scaling.hpp"

namespace fabricast {

// Bytes per element; scaling.hpp derives each number. Blocks have two sets of scales, by rows and by columns.
double cast_traffic(Scaling scaling) {
  switch (scaling) {
    case Scaling::current: return 6;
    case Scaling::rowwise: return cast_traffic(Scaling::current) * (3 / 2.2 + 5 / 0.65) / (2 / 2.2 + 4 / 1.4);
    case Scaling::blockwise: return 4 + 2 * 4.0 / 128;
    case Scaling::mxfp8: return 4 + 2 * 1.0 / 32;
    case Scaling::nvfp4: return 5 + 2 * 1.0 / 16;
    case Scaling::automatic:
    case Scaling::delayed: break;
  }
  return 4;
}

}  // namespace fabricast
