// Lists of ranks in PyTorch's traces and dumps.
#include "torch_group.hpp"

#include "fabricast/core/scan.hpp"

namespace fabricast::live {

bool RankList::scattered() const {
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i] != ranks[i - 1] + 1) return true;
  return false;
}

std::optional<RankList> rank_list(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  RankList list;
  list.whole = true;
  constexpr std::size_t most_ranks = std::size_t{1} << 20;
  while (!trimmed(text).empty()) {
    const std::string_view word = trimmed(take_until(text, ','));
    if (word == "...") {
      // What follows the dots are the last ranks of the list, which do not follow those before.
      list.whole = false;
      break;
    }
    const auto rank = small_number(word);
    if (!rank || *rank < 0 || *rank >= static_cast<int>(most_ranks) || list.ranks.size() >= most_ranks)
      return std::nullopt;
    list.ranks.push_back(*rank);
  }
  return list;
}

}  // namespace fabricast::live
