#include "fabricast/engine/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "fabricast/core/error.hpp"

namespace fabricast {

void resolve_fault(Fault& fault, std::size_t index, const Fabric& fabric, const NodeGraph& node) {
  fault.links = fabric.find_links(fault.target);
  if (!fault.links.empty()) return;
  // `node3.gpu2-pcie1`: a link inside a node.
  const std::string_view text = fault.target;
  if (const auto dot = text.find('.'); text.starts_with("node") && dot != std::string_view::npos) {
    std::uint32_t number = 0;
    const auto [end, code] = std::from_chars(text.data() + 4, text.data() + dot, number);
    if (code == std::errc() && end == text.data() + dot && number < fabric.nodes())
      for (std::uint16_t l = 0; l < node.links.size(); ++l)
        if (node.link_name(l) == text.substr(dot + 1)) {
          fault.inside.push_back({number, l});
          fault.inside.push_back({number, static_cast<std::uint16_t>(l ^ 1)});
        }
  }
  if (fault.inside.empty())
    throw UserError::at(
        fmt::format("faults[{}].link", index), fmt::format("nothing is called '{}'", fault.target),
        "names are as in `fabricast inspect fabric`, e.g. leaf0-spine1, node3.nic2, spine1 or node0.gpu0-pcie0");
}

std::vector<NetworkSegment> segments(const std::vector<Fault>& faults) {
  std::set<double> cuts{0.0};
  for (const Fault& f : faults) {
    cuts.insert(f.begin);
    if (f.end < std::numeric_limits<double>::infinity()) cuts.insert(f.end);
  }
  std::vector<NetworkSegment> list;
  for (const double begin : cuts) {
    NetworkSegment segment;
    segment.begin = begin;
    if (!list.empty()) list.back().end = begin;
    for (const Fault& f : faults) {
      if (f.begin > begin || f.end <= begin) continue;
      // Where several faults meet on a link, the worst counts.
      for (const LinkId l : f.links) segment.links.set(l, std::min(f.rate, segment.links.factor(l.value)));
      for (const Fault::Inside& i : f.inside) {
        const auto it = std::find_if(segment.inside.begin(), segment.inside.end(),
                                     [&](const auto& s) { return s.node == i.node && s.link == i.link; });
        if (it == segment.inside.end())
          segment.inside.push_back({i.node, i.link, f.rate});
        else
          it->factor = std::min(it->factor, f.rate);
      }
      segment.faults.push_back(f);
    }
    list.push_back(std::move(segment));
  }
  return list;
}

}  // namespace fabricast
