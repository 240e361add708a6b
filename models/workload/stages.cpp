// How many layers each chunk of a pipeline holds: as even as possible, as the user lists them, or balanced by work.
#include "fabricast/workload/stages.hpp"

#include <algorithm>
#include <cstdint>

namespace fabricast {

std::vector<int> layers_of_chunks(int layers, int chunks) {
  std::vector<int> list;
  // Rounded shares, so that two chunks differ by at most one layer and the longer ones are spread over the model.
  const auto begin = [&](int chunk) { return static_cast<int>(std::int64_t{chunk} * layers / chunks); };
  for (int chunk = 0; chunk < chunks; ++chunk) list.push_back(begin(chunk + 1) - begin(chunk));
  return list;
}

std::vector<int> layers_of_chunks(int layers, int chunks, const std::vector<int>& given) {
  return static_cast<int>(given.size()) == chunks ? given : layers_of_chunks(layers, chunks);
}

std::vector<int> balanced_layers(const Transformer& model, int stages, int interleave, int mtp_layers) {
  const ModelFlops flops = model_flops(model, model.sequence);
  const ModelFlops all = model_flops(model, model.sequence, mtp_layers);
  // Each chunk has at least one layer. Work is counted in layers.
  std::vector<double> work(static_cast<std::size_t>(stages), interleave);
  std::vector<std::vector<int>> held(work.size(), std::vector<int>(static_cast<std::size_t>(interleave), 1));
  const double layer = (flops.linear + flops.attention) / model.layers;
  // The last stage also has the vocabulary and the modules of multi-token prediction, counted in layers of equal FLOPs.
  work.back() += (all.linear + all.attention + all.vocabulary) / layer - model.layers;
  for (int placed = stages * interleave; placed < model.layers; ++placed) {
    // The next layer goes to the stage with the least work (the first such stage), to its chunk with the fewest layers.
    const auto least = std::min_element(work.begin(), work.end());
    std::vector<int>& mine = held[static_cast<std::size_t>(least - work.begin())];
    ++*std::min_element(mine.begin(), mine.end());
    *least += 1;
  }
  std::vector<int> list;
  for (std::size_t k = 0; k < static_cast<std::size_t>(interleave); ++k)
    for (const std::vector<int>& mine : held) list.push_back(mine[k]);
  return list;
}

}  // namespace fabricast
