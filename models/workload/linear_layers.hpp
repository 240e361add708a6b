// The linear layers of a transformer layer, for training and inference.
#pragma once

#include <vector>

#include "fabricast/workload/model.hpp"

namespace fabricast {

/// A GEMM of (tokens, in) x (in, out) on one GPU.
struct Linear {
  double in = 0, out = 0;
};

/// GEMMs of attention, split over `tensor` ranks.
inline std::vector<Linear> attention_gemms(const Transformer& m, double tensor) {
  const double hidden = static_cast<double>(m.hidden);
  const double query = static_cast<double>(m.query_width()) / tensor;
  const double value = static_cast<double>(m.value_width()) / tensor;
  const double key = static_cast<double>(m.kv_heads * m.head_dim) / tensor;
  if (m.kv_rank == 0) return {{hidden, query + 2 * key}, {value, hidden}};
  // Latent attention: the projections down to the latent vectors run on every GPU, those up to the heads only for the
  // heads of this GPU. Decoding projects queries and values into the latent space instead, with the same matrices.
  const double rank = static_cast<double>(m.kv_rank), q_rank = static_cast<double>(m.q_rank);
  std::vector<Linear> layers{{hidden, rank + static_cast<double>(m.rope_dim)},
                             {rank, static_cast<double>(m.heads * m.head_dim) / tensor + value},
                             {value, hidden}};
  if (q_rank > 0) layers.push_back({hidden, q_rank});
  layers.push_back({q_rank > 0 ? q_rank : hidden, query});
  return layers;
}

/// The output projection's place among `attention_gemms`.
inline std::size_t output_projection(const Transformer& m) { return m.kv_rank == 0 ? 1 : 2; }

/// The GEMMs of latent attention that project latent vectors up to the heads.
inline std::vector<Linear> latent_gemms(const Transformer& m, double tensor) {
  const std::vector<Linear> all = attention_gemms(m, tensor);
  std::vector<Linear> up{all[1]};
  if (m.q_rank > 0) up.push_back(all.back());
  return up;
}

/// GEMMs of Mamba 2, split over `tensor` ranks by heads.
inline std::vector<Linear> mamba_gemms(const Transformer& m, double tensor) {
  const double hidden = static_cast<double>(m.hidden);
  return {{hidden, static_cast<double>(m.mamba_in()) / tensor},
          {static_cast<double>(m.mamba_width()) / tensor, hidden}};
}

/// GEMMs of a feed-forward block of the given width.
inline std::vector<Linear> ffn_gemms(const Transformer& m, double width) {
  const double hidden = static_cast<double>(m.hidden);
  return {{hidden, (m.gated ? 2 : 1) * width}, {width, hidden}};
}

/// Number of parameter tensors of a layer: matrices, their biases, and norms. Queries, keys and values share one.
inline double tensors_of_layer(const Transformer& m) {
  const double attention = m.kv_rank > 0 ? 4 : 2, ffn = m.gated ? 3 : 2, norms = 2;
  return (attention + ffn) * (m.biases ? 2 : 1) + norms;
}

}  // namespace fabricast
