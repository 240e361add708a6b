// Messages of an alltoall of tokens: frameworks send whole tokens, so a message is never cut inside one.
//
// On average over experts a rank may have any fraction of a token for each peer. With t bytes of a token, n ranks and
// b bytes that a rank sends in all, the message to each peer is
//
//   m = t round( b / (n t) )        where that is a token or more,
//   m = 16 ceil( b / (16 n) )       below: some messages are a token, others are not sent at all
//
// so the volume is kept and each message begins where a token does: at a multiple of 16 B, as far as NCCL's copies are
// concerned. Not modelled: peers that get more tokens than others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fabricast {

/// Bytes that a rank sends to all, as ExchangeKind counts them. \pre bytes >= 0; token > 0; ranks > 0
inline std::int64_t bytes_of_tokens(double bytes, double token, int ranks) {
  constexpr double aligned = 16;
  const double message = bytes / ranks;
  const double whole = message >= token ? token * std::round(message / token) : aligned * std::ceil(message / aligned);
  return ranks * std::llround(std::max(aligned, whole));
}

}  // namespace fabricast
