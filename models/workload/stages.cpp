#include "fabricast/workload/stages.hpp"

#include <cstdint>

namespace fabricast {

std::vector<int> layers_of_chunks(int layers, int chunks) {
  std::vector<int> list;
  const auto begin = [&](int chunk) { return static_cast<int>(std::int64_t{chunk} * layers / chunks); };
  for (int chunk = 0; chunk < chunks; ++chunk) list.push_back(begin(chunk + 1) - begin(chunk));
  return list;
}

}  // namespace fabricast
