#include "lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "fabricast/core/text.hpp"

namespace fabricast::trace {

namespace {

/// The CUDA stream with the most computation, as the sum of seconds and operations; -1 if there is none.
std::int64_t busiest(const RankTrace& trace) {
  std::map<std::int64_t, double> work;
  for (const TraceNode& n : trace.nodes)
    if (n.kind == NodeKind::compute && !n.cpu) work[n.lane] += n.seconds + n.flops;
  const auto most =
      std::max_element(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == work.end() ? -1 : most->first;
}

std::string numbered(const char* name, std::int64_t lane) { return lane < 0 ? name : fmt::format("{} {}", name, lane); }

bool has_any(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return text.find(w) != std::string::npos; });
}

}  // namespace

std::string stream_of_group(const GroupTable::Group& group) {
  return group.name.empty() ? fmt::format("group of {} ranks", group.ranks.size()) : "group " + group.name;
}

Part part_of_node(const RankTrace& trace, std::uint32_t node) {
  const TraceNode& n = trace.nodes[node];
  if (n.cpu) return Part::host;
  const std::string name = lower_case(trace.labels[n.label]);
  if (has_any(name, {"optimizer", "adam"})) return Part::optimizer;
  return has_any(name, {"backward", "bwd", "grad"}) ? Part::backward : Part::forward;
}

Lanes::Lanes(const RankTrace& trace, const Calls& calls, std::uint32_t rank) : names_{"compute"} {
  std::map<std::string, std::uint16_t> index{{names_[0], std::uint16_t{0}}};
  const auto number = [&](std::string name) {
    const auto [at, is_new] = index.try_emplace(name, static_cast<std::uint16_t>(names_.size()));
    if (is_new) {
      if (names_.size() > std::numeric_limits<std::uint16_t>::max())
        throw UserError(
            fmt::format("{} needs more than 65536 streams: CUDA streams, threads, groups and peers", trace.file));
      names_.push_back(std::move(name));
    }
    return at->second;
  };
  const std::int64_t computes = busiest(trace);
  of_.assign(trace.nodes.size(), 0);
  // Formatting a name for each node would dominate the run time, so streams are looked up by what a name is made of.
  std::map<std::pair<int, std::int64_t>, std::uint16_t> known;
  const auto keyed = [&](int what, std::int64_t which, auto name) {
    const auto at = known.find({what, which});
    return at != known.end() ? at->second : known[{what, which}] = number(name());
  };
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
    const TraceNode& n = trace.nodes[i];
    const CommNode* c = n.comm == none ? nullptr : &trace.comms[n.comm];
    const std::uint32_t call = c ? calls.of[rank][n.comm] : none;
    if (n.kind == NodeKind::send || n.kind == NodeKind::receive) {
      const char* const route = n.kind == NodeKind::send ? "to" : "from";
      of_[i] = keyed(n.kind == NodeKind::send ? 0 : 1, c->peer, [&] { return numbered(route, c->peer); });
    } else if (call != none) {
      const std::uint32_t group = calls.calls[call].group;
      of_[i] = keyed(2, group, [&] { return stream_of_group(calls.groups[group]); });
    } else if (n.cpu || n.kind == NodeKind::mark) {
      of_[i] = keyed(3, n.lane, [&] { return numbered("cpu", n.lane); });
    } else if (n.kind == NodeKind::load || n.kind == NodeKind::store) {
      of_[i] = keyed(4, 0, [] { return "memory"; });
    } else if (n.lane != computes) {
      of_[i] = keyed(5, n.lane, [&] { return numbered("stream", n.lane); });
    }
  }
}

}  // namespace fabricast::trace
