// Blocks and descriptors of KV caches; equations in the header.
#include "fabricast/workload/kv_cache.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

KvDescriptors descriptors_of(const Transformer& model, double bytes_of_number, const KvPages& pages,
                             std::int64_t tokens, Bytes share, int from, int to) {
  const std::int64_t blocks = (tokens + pages.block - 1) / pages.block;
  const bool latent = model.kv_rank > 0;
  // Ranks beyond the heads hold copies, so both sides may hold one head each and still be alike.
  const std::int64_t heads = model.kv_heads;
  const auto held = [heads](int ranks) { return std::max<std::int64_t>(1, heads / ranks); };
  const bool alike = latent || held(from) == held(to);
  const std::int64_t run = !alike ? 1 : pages.contiguous == 0 ? blocks : std::min(pages.contiguous, blocks);
  const std::int64_t width = latent ? model.cache_width() : std::min(held(from), held(to)) * model.head_dim;
  const double of_token = static_cast<double>(width) * bytes_of_number;
  KvDescriptors d;
  d.bytes = Bytes{std::llround(of_token * static_cast<double>(std::min(run * pages.block, tokens)))};
  // Layers, and keys and values, that this pair of ranks shares.
  const std::int64_t pieces = std::max<std::int64_t>(
      1, std::llround(static_cast<double>(share.value) / (of_token * static_cast<double>(tokens))));
  d.count = pieces * ((blocks + run - 1) / run);
  return d;
}

double sent_early(KvStream stream, int layers, std::int64_t chunks) {
  const double pieces = stream == KvStream::layers   ? layers
                        : stream == KvStream::chunks ? static_cast<double>(chunks)
                                                     : 1;
  return (pieces - 1) / pieces;
}

Parameter usual_drive_rate() {
  return {40,
          12,
          100,
          "data sheet: eight NVMe drives of 3.5 to 14 GB/s each by PCIe generation [DGX-H100-drives]; two at the least",
          {},
          false};
}

}  // namespace fabricast
