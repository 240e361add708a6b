// Measurements between pairs of ranks, for the plans of tcp and verbs.
#pragma once

#include <span>

#include "fabricast/calibrate/probe.hpp"

namespace fabricast {

/// A kind of measurement that a backend can make between two ranks.
struct PairKind {
  std::string_view what;
  bool stream;                       ///< several connections; otherwise one connection
  std::span<const Bytes> sizes;      ///< defaults
  std::span<const int> connections;  ///< defaults; unused without `stream`
};

/// Assumed rate of a line whose rate is unknown: 100 Gb/s.
inline constexpr BytesPerSecond assumed_line_rate{12.5e9};

/// Adds the measurements of a kind, for all sizes and numbers of connections.
/// \param base  members that they have in common, such as ranks and ports
/// \param rate  of the line; 0: unknown
inline void add_pair(std::vector<Measurement>& plan, const Measurement& base, const PairKind& kind, BytesPerSecond rate,
                     const ProbeSettings& settings) {
  constexpr int one[] = {1};
  const std::span<const Bytes> sizes = settings.sizes.empty() ? kind.sizes : settings.sizes;
  std::span<const int> connections = one;
  if (kind.stream) connections = settings.connections.empty() ? kind.connections : settings.connections;
  for (const Bytes size : sizes)
    for (const int n : connections) {
      Measurement m = base;
      m.what = kind.what;
      m.stream = kind.stream;
      m.bytes = size;
      m.connections = n;
      m.rate_known = rate.value > 0;
      // Assumed work: a few windows of a stream, or two hundred messages in either direction.
      const Seconds message = Seconds{1e-6} + size / (m.rate_known ? rate : assumed_line_rate);
      const double messages = kind.stream ? 8 + Seconds{0.4} / message : 200;
      m.estimate = kind.stream ? message * messages : Seconds{0.05} + (Seconds{50e-6} + message) * messages;
      m.traffic = {static_cast<std::int64_t>(messages * static_cast<double>(size.value))};
      plan.push_back(m);
    }
}

}  // namespace fabricast
