// What a tuner plugin chooses instead of NCCL: an algorithm, a protocol and a limit on channels, for ranges of sizes of
// one collective on communicators of one shape.
//
// `export profile` writes such rules to a file, libnccl-tuner-fabricast.so applies them in a job
// (docs/tuner-plugin.md), and the planner applies them in a forecast (`nccl.tuner`). A size without a rule is NCCL's to
// choose.
//
// Sizes are in bytes, as NCCL counts them for a tuner: the larger of the data that a rank sends and receives. Gains are
// the share of the time of NCCL's own choice that is saved: 0.15 is 15 %.
//
// Plain values. `find_rule` does not allocate or throw; all functions are safe to call concurrently.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fabricast/collective/collective.hpp"

namespace fabricast {

/// NCCL's count of nodes, which are hosts or NVLink domains, and of ranks.
struct TunedShape {
  std::uint64_t nodes = 1, ranks = 1;
  friend bool operator==(TunedShape, TunedShape) = default;
};

/// What runs for sizes in [from, to].
struct TunerRule {
  std::uint64_t from = 0, to = 0;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;  ///< at most; 1 to 64
  /// 90 % interval of the gain: least, likely and most; ascending, the least above 0, the most below 1.
  std::array<double, 3> gain{};
};

/// The rules of one collective on communicators of one shape. Ranges ascend and do not overlap.
struct TunerRules {
  CollectiveOp op = CollectiveOp::all_reduce;
  TunedShape shape;
  std::vector<TunerRule> rules;
};

/// The rule whose range contains a size, or null. Takes log2(n) steps.
/// \pre the ranges ascend and do not overlap
const TunerRule* find_rule(std::span<const TunerRule> rules, std::uint64_t bytes) noexcept;

/// The rule of a call, or null. \pre no two entries of `all` have the same collective and shape
const TunerRule* find_rule(std::span<const TunerRules> all, CollectiveOp op, TunedShape shape,
                           std::uint64_t bytes) noexcept;

/// Whether a value of NCCL_TUNER_PLUGIN names libnccl-tuner-fabricast.so, by its name or its path.
bool names_own_tuner(std::string_view plugin) noexcept;

/// Whether NCCL lets a tuner limit the channels of an algorithm. Where CollNet takes part, as in NVLS over several
/// nodes, NCCL does not limit the number, and one that is too large would address channels that are not connected.
bool tuner_may_limit(Algorithm algorithm, TunedShape shape) noexcept;

}  // namespace fabricast
