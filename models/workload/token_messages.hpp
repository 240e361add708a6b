// Message sizes of an alltoall of tokens. Frameworks send whole tokens, so no message ends inside a token.
//
// On average over experts, a rank may have a fraction of a token for a peer. With t bytes per token, n ranks and b
// bytes that a rank sends in total, the message to each peer is
//
//   m = t round( b / (n t) )        if it is at least a token,
//   m = 16 ceil( b / (16 n) )       if less: some messages are a token, others are not sent at all
//
// This preserves the volume, and each message starts at a token, which for NCCL's copies means at a multiple of 16 B.
// Not modelled: peers that receive more tokens than others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fabricast {

/// Bytes that a rank sends in total, as CollectiveKind counts them. \pre bytes >= 0; token > 0; ranks > 0
inline std::int64_t bytes_of_tokens(double bytes, double token, int ranks) {
  constexpr double aligned = 16;
  const double message = bytes / ranks;
  const double whole = message >= token ? token * std::round(message / token) : aligned * std::ceil(message / aligned);
  return ranks * std::llround(std::max(aligned, whole));
}

}  // namespace fabricast
