// Versions of NCCL: their text, and the ones that a scenario with an unknown version must be forecast for. Rules
// compare versions with `<`, so a release without a patch number is taken as the last patch of its minor release, in
// which all backported changes are included.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  std::array<int, 3> parts{0, 0, 0};
  std::size_t count = 0;
  while (count < 3) {
    // Only whole numbers separated by dots: from_chars accepts a sign, which the next condition rejects.
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), parts[count]);
    if (code != std::errc() || parts[count] < 0) return std::nullopt;
    ++count;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty() || text.front() != '.') break;
    text.remove_prefix(1);
  }
  if (count < 2 || !text.empty() || parts[0] != 2) return std::nullopt;
  return NcclVersion{parts[0], parts[1], count < 3 ? NcclVersion::last_patch : parts[2]};
}

std::string to_text(const NcclVersion& v) {
  return v.patch > 0 && v.patch < NcclVersion::last_patch ? fmt::format("{}.{}.{}", v.major, v.minor, v.patch)
                                                          : fmt::format("{}.{}", v.major, v.minor);
}

namespace {

/// A version that changed a rule, and the first compute capability on which it does.
struct Change {
  NcclVersion version;
  int capability = 0;
};

/// The changes that the model covers (docs/models/planner.md#versions), in ascending order: every version that the
/// models compare with has an entry. A change that needs more than the GPU, such as registered buffers, has one too:
/// it costs a run, and equal forecasts share an entry (report/versions.hpp).
constexpr std::array changes = {
    Change{{2, 5, 0}},       Change{{2, 6, 0}},       Change{{2, 7, 0}},       Change{{2, 8, 0}},
    Change{{2, 9, 0}},       Change{{2, 10, 0}},      Change{{2, 12, 0}},      Change{{2, 14, 0}},
    Change{{2, 15, 0}},      Change{{2, 17, 0}},      Change{{2, 18, 0}},      Change{{2, 18, 3}},
    Change{{2, 18, 5}},      Change{{2, 19, 0}},      Change{{2, 19, 3}, 90},  Change{{2, 20, 0}},
    Change{{2, 21, 0}},      Change{{2, 22, 0}},      Change{{2, 23, 0}},      Change{{2, 24, 0}},
    Change{{2, 25, 0}},      Change{{2, 25, 1}},      Change{{2, 26, 2}},      Change{{2, 27, 0}},
    Change{{2, 27, 5}, 100}, Change{{2, 27, 6}, 100}, Change{{2, 28, 0}},      Change{{2, 28, 7}, 100},
    Change{{2, 28, 9}, 90},  Change{{2, 29, 2}},      Change{{2, 29, 7}, 100}, Change{{2, 30, 3}, 90},
    Change{{2, 31, 0}},      Change{{2, 32, 3}, 100}};

/// The first version with kernels for a GPU [NCCL-releases].
NcclVersion first_for(int compute_capability) {
  if (compute_capability >= 100) return {2, 25, 0};
  if (compute_capability >= 90) return {2, 15, 0};
  return {2, 7, 0};
}

}  // namespace

std::optional<NcclVersions> parse_nccl_versions(std::string_view text, int compute_capability) {
  if (text == "unknown") return NcclVersions{first_for(compute_capability), newest_nccl};
  const auto dash = text.find('-');
  const auto first = parse_nccl_version(text.substr(0, dash));
  if (dash == std::string_view::npos) return first ? std::optional(NcclVersions{*first, *first}) : std::nullopt;
  const auto last = parse_nccl_version(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  // A range starts with the first patch of its first version and ends with the last patch of its last.
  return NcclVersions{{first->major, first->minor, first->patch == NcclVersion::last_patch ? 0 : first->patch}, *last};
}

std::vector<NcclVersion> distinct_versions(const NcclVersions& versions, int compute_capability) {
  // Between two changes all versions give the same forecast, so the first of each interval stands for the rest.
  std::vector<NcclVersion> list{versions.first};
  for (const auto& [change, capability] : changes)
    if (versions.first < change && change <= versions.last && compute_capability >= capability) list.push_back(change);
  return list;
}

}  // namespace fabricast
