// The values of one line of NCCL Inspector.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fabricast::live {

struct InspectorLine {
  std::string id, name, host, version, operation, timing;
  std::int64_t rank = -1, ranks = -1, nodes = 0, pid = -1, when = 0;
  std::int64_t sequence = -1, bytes = -1;
  double time = -1;  ///< us: whole in Inspector's files, with decimals in those of Fabricast's profiler plugin
  double algorithm_bandwidth = -1;
  bool collective = false, peer_to_peer = false;  ///< which of them the line records
  bool bad = false;                               ///< a value has the wrong type

  /// Reads a line. What it does not state has the values above.
  /// \returns whether it is JSON
  bool read(std::string_view text);
};

}  // namespace fabricast::live
