// Lists measurements over pairs of ranks.
#pragma once

#include <span>

#include "fabricast/calibrate/probe.hpp"

namespace fabricast {

/// A kind of measurement that a backend can make between two ranks.
struct PairKind {
  std::string_view what;
  bool stream;  ///< in both directions, over several connections; else once per pair, over one
  std::span<const Bytes> sizes;
  std::span<const int> connections;
};

/// What a line is counted at whose rate is not known.
inline constexpr BytesPerSecond assumed_line_rate{12.5e9};

/// `base` has what all have in common: its ends are filled in. `rate` is what the line carries; zero: not known.
inline void add_pair(std::vector<Measurement>& plan, const Measurement& base, const PairKind& kind, BytesPerSecond rate,
                     const ProbeSettings& settings) {
  constexpr int one[] = {1};
  const std::span<const Bytes> sizes = settings.sizes.empty() ? kind.sizes : settings.sizes;
  std::span<const int> connections = one;
  if (kind.stream) connections = settings.connections.empty() ? kind.connections : settings.connections;
  for (const Bytes size : sizes)
    for (const int n : connections) {
      Measurement m = base;
      m.what = kind.what, m.stream = kind.stream, m.bytes = size, m.connections = n;
      m.rate_known = rate.value > 0;
      // A few windows of a stream; two hundred messages, there or back.
      const Seconds message = Seconds{1e-6} + size / (m.rate_known ? rate : assumed_line_rate);
      const double messages = kind.stream ? 8 + Seconds{0.4} / message : 200;
      m.estimate = kind.stream ? message * messages : Seconds{0.05} + (Seconds{50e-6} + message) * messages;
      m.traffic = {static_cast<std::int64_t>(messages * static_cast<double>(size.value))};
      plan.push_back(m);
    }
}

}  // namespace fabricast
