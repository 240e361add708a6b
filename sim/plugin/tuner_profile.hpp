// A tuner profile: which calls of a communicator run otherwise than NCCL would choose
// (docs/formats.md#tuner-profile).
//
// The profile holds only ranges of sizes for which the whole forecast interval of the gain is above zero. A size
// without a range is NCCL's to choose.
//
// Sizes are in bytes, as NCCL counts them for a tuner: the larger of the data that a rank sends and receives. Gains are
// the share of the time of NCCL's own choice that is saved: 0.15 is 15 %.
//
// A file is valid as a whole or not at all: a fault in the table of another communicator counts too, so that all ranks
// with this file agree. The name of the file carries the fingerprint of the content (core/fingerprint.hpp).
//
// Plain values. `find` does not allocate or throw; all functions are safe to call concurrently.
//
// Not checked: whether the cluster is the one of the forecast, beyond the shape of the communicator; nor NCCL's
// version, which a tuner is not told.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fabricast/collective/collective.hpp"

namespace fabricast::plugin {

/// What runs for sizes in [from, to].
struct Override {
  std::uint64_t from = 0, to = 0;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;              ///< at most; 1 to 64
  std::array<double, 3> gain{};  ///< least, likely and most; ascending, above 0 and below 1
};

/// NCCL's count of nodes, which are hosts or NVLink domains, and of ranks.
struct Shape {
  std::uint64_t nodes = 1, ranks = 1;
  friend bool operator==(Shape, Shape) = default;
};

/// What a profile says about communicators of one shape.
struct TunerProfile {
  std::string scenario;  ///< name of the forecast scenario
  std::string nccl;      ///< NCCL's version in the forecast: "2.28.3"
  bool has_shape = false;
  /// By collective, in the order of CollectiveOp. Ranges ascend and do not overlap.
  std::array<std::vector<Override>, 5> overrides;

  /// Number of ranges over all collectives.
  std::size_t size() const;
};

/// What is wrong with a profile, and where: "tables[0].overrides[2].channels: 65 is not in 1 to 64".
struct Fault {
  std::string text;
};

/// Reads the content of a profile.
std::variant<TunerProfile, Fault> parse_profile(std::string_view text, Shape shape);

/// Reads a file and compares its fingerprint with its name, `ANYTHING.0123456789abcdef.json`. Files of more than 16 MiB
/// are refused.
std::variant<TunerProfile, Fault> read_profile(const std::string& path, Shape shape);

/// The range that contains a size, or null. Takes log2(n) steps.
/// \pre the ranges ascend and do not overlap
const Override* find(const std::vector<Override>& ranges, std::uint64_t bytes) noexcept;

}  // namespace fabricast::plugin
