// The network over time: which links a fault names, and what is left of each link between two changes.
//
// A segment lies between two neighbours t_k, t_k+1 among time 0 and the begins and ends of all faults. In it
//
//   factor(l, k) = min over faults f on link l with begin_f <= t_k < end_f  of  rate_f,      1 if there is none     (1)
//
// Times count from the start of a collective, rates are relative to nominal. As links keep their rates within a
// segment, the flow engine counts connections anew where one begins, and nowhere else.
#include "fabricast/engine/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

/// A host of the fabric by its name, and what stands behind it: `node3`, `node3.gpu2`.
struct HostName {
  std::uint32_t number = 0;
  std::string_view part;  ///< behind the dot; empty: the host itself
};
std::optional<HostName> host_named(std::string_view text, std::uint32_t hosts) {
  if (!text.starts_with("node")) return std::nullopt;
  const std::size_t dot = std::min(text.find('.'), text.size());
  HostName name;
  const auto [end, code] = std::from_chars(text.data() + 4, text.data() + dot, name.number);
  if (code != std::errc() || end != text.data() + dot || name.number >= hosts) return std::nullopt;
  if (dot < text.size()) name.part = text.substr(dot + 1);
  return name;
}

/// Links inside a host: one by name, all of a GPU, or with no name all.
void find_inside(Fault& fault, const HostName& host, const NodeGraph& node) {
  for (std::uint16_t l = 0; l < node.link_count(); ++l) {
    const bool of_gpu = node.vertices[node.links[l].from].name == host.part &&
                        node.vertices[node.links[l].from].kind == NodeVertexKind::gpu;
    if (!host.part.empty() && !of_gpu && node.link_name(l) != host.part) continue;
    // Both directions, like a cable of the fabric: they have the numbers 2k and 2k + 1.
    fault.inside.push_back({host.number, l});
    if (!host.part.empty()) fault.inside.push_back({host.number, static_cast<std::uint16_t>(l ^ 1)});
  }
}

}  // namespace

void resolve_fault(Fault& fault, std::size_t index, const Fabric& fabric, const NodeGraph& node) {
  // The fabric's names come first, `node3.nic2` among them: only what is none of these can be inside a node.
  fault.links = fabric.find_links(fault.target);
  if (!fault.links.empty()) return;
  if (const auto host = host_named(fault.target, fabric.nodes())) {
    find_inside(fault, *host, node);
    if (host->part.empty())
      for (int nic = 0; nic < node.nics; ++nic)
        for (const LinkId link : fabric.find_links(fmt::format("{}.nic{}", fault.target, nic)))
          fault.links.push_back(link);
  }
  if (fault.inside.empty() && fault.links.empty())
    throw UserError::at(fmt::format("faults[{}].link", index),
                        fmt::format("there is no link or component '{}'", fault.target),
                        "names are as in `fabricast inspect fabric`, e.g. leaf0-spine1, node3.nic2, spine1, node3, "
                        "node3.gpu2 or node0.gpu0-pcie0");
}

std::vector<NetworkSegment> segments(const std::vector<Fault>& faults) {
  // In order, and faults that begin or end together cut once.
  std::set<Seconds> cuts{Seconds{}};
  for (const Fault& f : faults) {
    cuts.insert(f.begin);
    if (f.end < for_ever) cuts.insert(f.end);
  }
  std::vector<NetworkSegment> list;
  for (const Seconds begin : cuts) {
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
