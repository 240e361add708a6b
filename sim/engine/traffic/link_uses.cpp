// Builds (1) of link_uses.hpp. A part holds the uses of one team on links with equal counts, and a link has the parts
// of all teams on it. Links with the same list of parts are one kind, whose uses are written only once. Comparing lists
// of a few parts costs less than comparing all uses.
#include "link_uses.hpp"

#include <algorithm>
#include <bit>

#include "fabricast/core/radix_sort.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {

/// Sorts links and gives those with the same parts the same kind.
void LinkUsesBuilder::sort_links(LinkUses::Layout& layout, std::vector<std::span<const Entry>>& parts_of_kind) {
  // The sort is stable, so the parts of a link stay in the order of teams, and items on it ascend.
  radix_sort(entries_, [](const Entry& e) { return e.link; });
  using Parts = std::span<const Entry>;
  constexpr std::uint32_t none = 0xffffffff;
  std::vector<std::uint32_t> at(1024, none);  // hash table of kinds: open addressing, at most half full
  const auto place = [&](Parts parts) {
    std::uint64_t hash = parts.size();
    for (const Entry& e : parts) hash = mix64(hash ^ e.part);
    std::size_t i = hash & (at.size() - 1);
    const auto same = [](const Entry& a, const Entry& b) { return a.part == b.part; };
    for (; at[i] != none; i = (i + 1) & (at.size() - 1)) {
      const Parts known = parts_of_kind[at[i]];
      if (std::equal(parts.begin(), parts.end(), known.begin(), known.end(), same)) break;
    }
    return i;
  };
  for (std::size_t first = 0, last = 0; first < entries_.size(); first = last) {
    while (last < entries_.size() && entries_[last].link == entries_[first].link) ++last;
    const Parts parts = std::span(entries_).subspan(first, last - first);
    std::uint32_t& kind = at[place(parts)];
    const bool fresh = kind == none;
    if (fresh) kind = static_cast<std::uint32_t>(parts_of_kind.size());
    layout.links.push_back({parts.front().link, kind});
    if (!fresh) continue;
    parts_of_kind.push_back(parts);
    if (2 * parts_of_kind.size() <= at.size()) continue;
    // The table holds no hashes, so they are computed again from the parts.
    at.assign(4 * at.size(), none);
    for (std::uint32_t k = 0; k < parts_of_kind.size(); ++k) at[place(parts_of_kind[k])] = k;
  }
  // One entry per crossed link, kept as long as the collective: spare capacity would cost memory.
  layout.links.shrink_to_fit();
}

LinkUses LinkUsesBuilder::build(const std::function<bool(std::uint32_t)>& can_be) {
  auto layout = std::make_shared<LinkUses::Layout>();
  std::vector<std::span<const Entry>> parts_of_kind;
  sort_links(*layout, parts_of_kind);
  std::size_t all = 0;
  for (const auto& parts : parts_of_kind) {
    layout->lowest.push_back(parts.front().link);
    for (const Entry& e : parts) all += part(e.part).size();
    layout->first.push_back(all);
  }
  std::uint32_t most = 0;
  for (const NumberedUse& u : uses_) most = std::max(most, u.item);
  layout->value_bits = static_cast<int>(std::bit_width(std::max<std::size_t>(values_.size(), 1) - 1));
  // All uses take 64 bits if one of them does not fit in 32.
  const bool wide = std::bit_width(most) + layout->value_bits > 32;
  wide ? layout->wide.reserve(all) : layout->uses.reserve(all);
  for (const auto& parts : parts_of_kind) {
    // Parts of several teams come from several NIC ports.
    const bool several = can_be && parts.size() > 1 && can_be(parts.front().link);
    bool contended = several;
    for (const Entry& e : parts)
      for (const NumberedUse& u : part(e.part)) {
        const std::uint32_t value = several ? u.value | 1U : u.value;
        contended |= can_be && (value & 1U);
        const std::uint64_t packed = std::uint64_t{u.item} << layout->value_bits | value;
        wide ? layout->wide.push_back(packed) : layout->uses.push_back(static_cast<std::uint32_t>(packed));
      }
    if (can_be) layout->contended.push_back(contended);
  }
  LinkUses made;
  made.layout_ = std::move(layout);
  made.values_ = std::move(values_);
  return made;
}

}  // namespace fabricast
