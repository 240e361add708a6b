// Which ranks may be one actor: the coarsest partition in which ranks of a class run equal nodes and the n-th exchange of
// each joins nodes of the same classes. Found as for automata: begin with ranks of equal nodes, split by what their
// exchanges join, until nothing splits.
#include <algorithm>
#include <map>
#include <numeric>

#include "calls.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast::trace {

namespace {

/// Peers and groups aside, which show in what the calls join.
bool do_the_same(const RankTrace& a, const RankTrace& b) {
  if (a.nodes != b.nodes || a.dependencies != b.dependencies || a.first_dependency != b.first_dependency ||
      a.labels != b.labels || a.comms.size() != b.comms.size())
    return false;
  for (std::size_t k = 0; k < a.comms.size(); ++k)
    if (a.comms[k].op != b.comms[k].op || a.comms[k].bytes != b.comms[k].bytes) return false;
  return true;
}

std::vector<std::uint32_t> by_nodes(const Job& job) {
  std::vector<std::uint32_t> first;  // of each class, a trace
  std::vector<std::uint32_t> class_of(job.traces.size());
  for (std::uint32_t t = 0; t < job.traces.size(); ++t) {
    std::uint32_t c = 0;
    while (c < first.size() && !do_the_same(job.traces[first[c]], job.traces[t])) ++c;
    if (c == first.size()) first.push_back(t);
    class_of[t] = c;
  }
  std::vector<std::uint32_t> classes(job.ranks());
  for (std::uint32_t r = 0; r < job.ranks(); ++r) classes[r] = class_of[job.trace_of[r]];
  return classes;
}

/// What a call joins: how often which comm node of which class.
std::vector<std::uint64_t> signature(const Call& call, const std::vector<std::uint32_t>& class_of) {
  std::vector<std::uint64_t> all;
  all.reserve(call.members.size() + 2);
  for (const Member& m : call.members) all.push_back(std::uint64_t{class_of[m.rank]} << 32 | m.comm);
  // Source and destination of a message stay apart.
  if (call.op != CollectiveOp::sendrecv) std::sort(all.begin(), all.end());
  std::vector<std::uint64_t> out{static_cast<std::uint64_t>(call.bytes),
                                 static_cast<std::uint64_t>(call.op) << 32 | static_cast<std::uint64_t>(call.part)};
  for (std::size_t i = 0, same = 0; i < all.size(); i += same) {
    same = 1;
    while (i + same < all.size() && all[i + same] == all[i]) ++same;
    out.push_back(all[i]), out.push_back(same);
  }
  return out;
}

template <class Key>
std::uint32_t number_of(std::map<Key, std::uint32_t>& numbers, Key key) {
  return numbers.try_emplace(std::move(key), static_cast<std::uint32_t>(numbers.size())).first->second;
}

}  // namespace

Folded fold(const Job& job, const Calls& calls, bool is_on) {
  Folded f;
  f.class_of.resize(calls.calls.size());
  if (is_on) {
    f.actor_of = by_nodes(job);
    for (std::uint32_t before = 0, now = 0;; before = now) {
      stop_if_requested();
      std::map<std::vector<std::uint64_t>, std::uint32_t> kinds;
      for (std::size_t i = 0; i < calls.calls.size(); ++i)
        f.class_of[i] = number_of(kinds, signature(calls.calls[i], f.actor_of));
      f.classes = static_cast<std::uint32_t>(kinds.size());
      std::map<std::vector<std::uint32_t>, std::uint32_t> classes;
      for (std::uint32_t r = 0; r < job.ranks(); ++r) {
        std::vector<std::uint32_t> key{f.actor_of[r]};
        for (const std::uint32_t call : calls.of[r]) key.push_back(call == none ? none : f.class_of[call]);
        f.actor_of[r] = number_of(classes, std::move(key));
      }
      now = static_cast<std::uint32_t>(classes.size());
      if (now == before) break;
    }
  } else {
    f.actor_of.resize(job.ranks());
    std::iota(f.actor_of.begin(), f.actor_of.end(), 0u);
    std::iota(f.class_of.begin(), f.class_of.end(), 0u);
    f.classes = static_cast<std::uint32_t>(calls.calls.size());
  }
  for (std::uint32_t r = 0; r < job.ranks(); ++r)
    if (f.actor_of[r] == f.rank_of.size()) f.rank_of.push_back(r);
  return f;
}

}  // namespace fabricast::trace
