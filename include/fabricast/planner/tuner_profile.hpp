// A tuner profile: the file from which libnccl-tuner-fabricast.so takes its rules (docs/formats.md#tuner-profile).
//
// The profile holds only ranges of sizes for which the whole forecast interval of the gain is above zero.
//
// A file is valid as a whole or not at all: a fault in the table of another communicator counts too, so that all ranks
// with this file agree. The name of the file carries the fingerprint of the content (core/fingerprint.hpp).
//
// Plain values; all functions are safe to call concurrently. Faults are values, not exceptions, because the plugin runs
// inside NCCL.
//
// Not checked: whether the cluster is the one of the forecast, beyond the shape of the communicator; nor NCCL's
// version, which a tuner is not told.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fabricast/planner/tuner_rules.hpp"

namespace fabricast {

/// What a file says. No two tables have the same collective and shape.
struct TunerProfile {
  std::string fabricast;  ///< version that wrote it
  std::string scenario;   ///< name of the forecast scenario
  std::string nccl;       ///< NCCL's version in the forecast: "2.28.3"
  std::vector<TunerRules> tables;
};

/// What is wrong with a profile, and where: "tables[0].overrides[2].channels: 65 is not between 1 and 64".
struct TunerFault {
  std::string text;
};

/// Files of more bytes are refused.
inline constexpr std::size_t most_tuner_profile_bytes = std::size_t{16} << 20;

/// Reads the content of a profile.
std::variant<TunerProfile, TunerFault> parse_tuner_profile(std::string_view text);

/// What is wrong with the name of a file of this content, which must be `ANYTHING.0123456789abcdef.json`; empty:
/// nothing.
std::string wrong_tuner_name(const std::string& path, std::string_view text);

/// Reads a file and compares its fingerprint with its name.
std::variant<TunerProfile, TunerFault> read_tuner_profile(const std::string& path);

/// The profile as JSON.
std::string tuner_profile_json(const TunerProfile& profile);

}  // namespace fabricast
