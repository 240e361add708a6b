// Which layers a pipeline stage holds. Chunk k of stage s is entry k stages + s of a list of chunks.
#pragma once

#include <vector>

#include "fabricast/workload/model.hpp"

namespace fabricast {

/// The layers of each chunk, in order of the model: as even as can be.
std::vector<int> layers_of_chunks(int layers, int chunks);
/// `given`, or if that is of another number of chunks or empty, as even as can be.
std::vector<int> layers_of_chunks(int layers, int chunks, const std::vector<int>& given);

/// As even in FLOPs as whole layers allow: the last stage computes the vocabulary, too, and gets fewer.
/// \param mtp_layers  modules of multi-token prediction, which the last stage holds, too
/// \pre there is one for each chunk
std::vector<int> balanced_layers(const Transformer& model, int stages, int interleave, int mtp_layers = 0);

}  // namespace fabricast
