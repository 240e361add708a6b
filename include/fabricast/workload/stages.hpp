// Which layers a pipeline stage holds.
//
// A list of chunks has one entry per chunk, the number of its layers, in the order of the model. Chunk k of stage s is
// entry k stages + s. Pure functions; safe to call concurrently.
#pragma once

#include <vector>

#include "fabricast/workload/model.hpp"

namespace fabricast {

/// Distributes layers over chunks as evenly as possible.
std::vector<int> layers_of_chunks(int layers, int chunks);
/// `given` if it lists that number of chunks, else an even distribution.
std::vector<int> layers_of_chunks(int layers, int chunks, const std::vector<int>& given);

/// Distributes layers so that FLOPs are as even as whole layers allow. The last stage also computes the vocabulary and
/// therefore gets fewer layers.
/// \param mtp_layers  modules of multi-token prediction, which the last stage also holds
/// \pre the model has at least one layer per chunk
std::vector<int> balanced_layers(const Transformer& model, int stages, int interleave, int mtp_layers = 0);

}  // namespace fabricast
