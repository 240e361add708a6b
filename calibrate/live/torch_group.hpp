// Process groups as PyTorch writes them, and the bytes of its tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast::live {

/// The list of ranks of a group, as text: `[0, 2, 4]`. PyTorch shortens long lists: `[0, 8, 16, ...]`.
struct RankList {
  std::vector<int> ranks;
  bool whole = false;  ///< whether all ranks are there
  /// Whether the ranks that are there do not follow each other.
  bool scattered() const;
};
/// Null if the text is no such list.
std::optional<RankList> rank_list(std::string_view text);

}  // namespace fabricast::live
