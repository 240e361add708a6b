// Which layers a pipeline stage holds.
#pragma once

#include <vector>

namespace fabricast {

/// The layers of each chunk, in order of the model: as even as can be. Chunk k of stage s is entry k stages + s.
std::vector<int> layers_of_chunks(int layers, int chunks);

}  // namespace fabricast
