// The KV cache as serving engines hold and move it: blocks of tokens, and the descriptors of a transfer.
//
// An engine keeps keys and values of a layer in blocks of some tokens. A transfer is a list of descriptors, each a piece
// of memory that lies in one place at both ends: for each layer, keys and values (latent attention has one vector for
// both), and each run of blocks that lie next to each other. With ranks that hold the same heads at both ends
//
//     bytes of a descriptor  = tokens of a run x heads of a rank x head_dim x bytes of a number
//     descriptors of a pair  = layers x 2 x ceil(blocks / blocks of a run)                                            (1)
//
// With unequal numbers of tensor ranks the heads of a block are split anew, so a piece is the heads that both ranks of a
// pair hold, and runs end with the block.
//
// Sizes are bytes and tokens; times are seconds. Pure functions; safe to call concurrently.
// Source of block sizes and libraries: models/hardware/data/serving.json, docs/models/kv-cache.md.
// Not modelled: caches of windowed attention that are shorter than the prompt, and headers of blocks with scales.
#pragma once

#include <cstdint>

#include "fabricast/core/units.hpp"
#include "fabricast/hardware/compute.hpp"
#include "fabricast/hardware/parameter.hpp"
#include "fabricast/hardware/serving_stack.hpp"
#include "fabricast/workload/model.hpp"

namespace fabricast {

/// How an engine moves its cache, with all settings resolved. A plain value.
struct KvPages {
  KvLibrary library = KvLibrary::nccl;
  KvStream stream = KvStream::layers;
  std::int64_t block = 16;  ///< tokens
  std::int64_t contiguous =
      1;               ///< blocks of a run, which one descriptor covers; 0: the blocks of a request are one run
  int rails = 1;       ///< NICs that a GPU sends by
  Seconds descriptor;  ///< host time to post one
  /// Whether data goes from memory to memory without kernels and buffers in between.
  bool direct() const { return library != KvLibrary::nccl; }
};

/// The descriptors that one rank sends to another.
struct KvDescriptors {
  std::int64_t count = 0;
  Bytes bytes;  ///< of each, but for the last one of a run
};

/// (1) for a request of `tokens`. \param share  bytes that a rank sends to the other, which decide the number of pieces
/// \param bytes_of_number  of keys and values  \param from, to  tensor ranks of a replica at both ends
KvDescriptors descriptors_of(const Transformer& model, double bytes_of_number, const KvPages& pages,
                             std::int64_t tokens, Bytes share, int from, int to);

/// The fraction of a transfer that may overlap with the prompt: all but the last of the pieces that it is sent in.
/// \param layers  of the model  \param chunks  passes of the prompt
double sent_early(KvStream stream, int layers, std::int64_t chunks);

/// Rails that NIXL uses unless told otherwise [NIXL-UCX].
inline constexpr int usual_rails = 2;

/// GB/s at which a node reads caches from its NVMe drives, unless a scenario says so.
Parameter usual_drive_rate();

}  // namespace fabricast
