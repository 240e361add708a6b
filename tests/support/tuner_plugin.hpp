// The rules by which NCCL's example tuner plugin reads its table and answers NCCL [NCCL-tuner-9.2].
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fabricast::test {

/// Which algorithms and protocols NCCL lets the plugin choose among, in NCCL's order.
using Allowed = std::array<std::array<bool, 3>, 7>;
Allowed everything();

struct TunerAnswer {
  bool found = false;
  int algorithm = -1, protocol = -1;
  int channels = 1;  ///< the plugin sets 1 before it looks, and NCCL takes it
};

class TunerPlugin {
 public:
  /// \throws std::runtime_error for what the plugin would misread: long lines, too few fields, words in capitals
  explicit TunerPlugin(const std::string& table);
  /// \param function 0 broadcast, 1 reduce, 2 allgather, 3 reducescatter, 4 allreduce
  TunerAnswer ask(int function, std::uint64_t bytes, int nodes, int ranks, const Allowed& allowed = everything()) const;
  std::size_t lines() const { return lines_.size(); }

 private:
  struct Line {
    int function, algorithm, protocol, channels, nodes, ranks;
    std::uint64_t least, most;
  };
  std::vector<Line> lines_;
};

}  // namespace fabricast::test
