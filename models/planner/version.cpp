// Versions of NCCL: their text, and the ones that a scenario with an unknown version must be forecast for. Rules
// compare versions with `<`, so a release without a patch number is taken as the last patch of its minor release, in
// which all backported changes are included.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "fabricast/core/scan.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

namespace {

/// Digits as a number: without a sign, which whole_number accepts.
std::optional<int> digits(std::string_view text) {
  constexpr std::int64_t most = 99999;  // NCCL_VERSION_CODE has five digits
  const auto number = is_digit(text.empty() ? ' ' : text.front()) ? whole_number(text) : std::nullopt;
  return number && *number <= most ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

/// `2.18` or `2.21.5`: two or three whole numbers.
std::optional<NcclVersion> dotted_version(std::string_view text) {
  std::array<int, 3> parts{0, 0, NcclVersion::last_patch};
  std::size_t count = 0;
  while (true) {
    const std::size_t dot = text.find('.');
    const auto number = count < parts.size() ? digits(text.substr(0, dot)) : std::nullopt;
    if (!number) return std::nullopt;
    parts[count++] = *number;
    if (dot == std::string_view::npos) break;
    text.remove_prefix(dot + 1);
  }
  if (count < 2 || parts[0] != 2) return std::nullopt;
  return NcclVersion{parts[0], parts[1], parts[2]};
}

/// NCCL_VERSION_CODE: 22403 for 2.24.3, and 2804 for 2.8.4, as up to 2.8 a minor release has one digit [NCCL-tags].
/// Shorter codes than that of 2.3 are not read: 2024 is rather a year.
std::optional<NcclVersion> version_from_code(int code) {
  const int major = code < 10000 ? 1000 : 10000;
  if (code / major != 2) return std::nullopt;
  const int minor = code % major / 100;
  if (minor < 3 || (minor > 8) != (major == 10000)) return std::nullopt;
  return NcclVersion{2, minor, code % 100};
}

/// Removes what packages and logs add to a version: `v` before it, `+cuda12.6` and the revision `-1` behind it. Only a
/// version with a patch has a revision, so that `2.24-1` stays a range that is not one.
std::string_view without_additions(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  if (const std::size_t cuda = text.find("+cuda"); cuda != std::string_view::npos) {
    const std::string_view toolkit = text.substr(cuda + 5);
    if (toolkit.empty() || toolkit.find_first_not_of("0123456789.") != std::string_view::npos) return text;
    text = text.substr(0, cuda);
  }
  // Revisions have one digit. More digits are the end of a range.
  const std::size_t dash = text.find('-');
  const bool revised = dash != std::string_view::npos && dash + 2 == text.size() && digits(text.substr(dash + 1));
  return revised && std::count(text.begin(), text.end(), '.') == 2 ? text.substr(0, dash) : text;
}

}  // namespace

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  if (const auto code = digits(text)) return version_from_code(*code);
  return dotted_version(without_additions(text));
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

namespace {

/// One version as written, or both ends of a range.
struct WrittenVersions {
  NcclVersion first;
  std::optional<NcclVersion> last;  ///< none: not a range
};

// A version may contain a dash itself, so each dash may be the one between both ends.
std::optional<WrittenVersions> written_versions(std::string_view text) {
  if (const auto single = parse_nccl_version(text)) return WrittenVersions{*single, std::nullopt};
  for (std::size_t dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
    const auto first = parse_nccl_version(text.substr(0, dash)), last = parse_nccl_version(text.substr(dash + 1));
    if (first && last && *first <= *last) return WrittenVersions{*first, *last};
  }
  return std::nullopt;
}

/// In the short form that reads back to the same version: unlike in to_text, patch 0 is written.
std::string dotted(const NcclVersion& v) {
  return v.patch == NcclVersion::last_patch ? fmt::format("{}.{}", v.major, v.minor)
                                            : fmt::format("{}.{}.{}", v.major, v.minor, v.patch);
}

}  // namespace

std::string usual_form(std::string_view text) {
  const auto versions = written_versions(text);
  if (!versions) return std::string(text);
  return versions->last ? fmt::format("{}-{}", dotted(versions->first), dotted(*versions->last))
                        : dotted(versions->first);
}

std::optional<NcclVersions> parse_nccl_versions(std::string_view text, int compute_capability) {
  if (text == "unknown") return NcclVersions{first_for(compute_capability), newest_nccl};
  const auto versions = written_versions(text);
  if (!versions) return std::nullopt;
  const NcclVersion& first = versions->first;
  if (!versions->last) return NcclVersions{first, first};
  // A range starts with the first patch of its first version and ends with the last patch of its last.
  return NcclVersions{{first.major, first.minor, first.patch == NcclVersion::last_patch ? 0 : first.patch},
                      *versions->last};
}

std::vector<NcclVersion> distinct_versions(const NcclVersions& versions, int compute_capability) {
  // Between two changes all versions give the same forecast, so the first of each interval stands for the rest.
  std::vector<NcclVersion> list{versions.first};
  for (const auto& [change, capability] : changes)
    if (versions.first < change && change <= versions.last && compute_capability >= capability) list.push_back(change);
  return list;
}

}  // namespace fabricast
