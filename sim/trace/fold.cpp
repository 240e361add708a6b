// Which ranks may be one actor: the coarsest partition in which the ranks of a class run equal nodes, and the n-th
// collective or message of each joins nodes of the same classes. Found by partition refinement, as in the minimization
// of automata: begin with classes of ranks with equal nodes, and split them by what their collectives join, until
// nothing splits.
#include <algorithm>
#include <map>
#include <numeric>

#include "calls.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast::trace {

namespace {

/// Compares everything except peers and groups. Those count later, through the calls that the ranks join.
bool do_the_same(const RankTrace& a, const RankTrace& b) {
  if (a.nodes != b.nodes || a.dependencies != b.dependencies || a.first_dependency != b.first_dependency ||
      a.labels != b.labels || a.comms.size() != b.comms.size())
    return false;
  for (std::size_t k = 0; k < a.comms.size(); ++k)
    if (a.comms[k].op != b.comms[k].op || a.comms[k].bytes != b.comms[k].bytes) return false;
  return true;
}

std::vector<std::uint32_t> by_nodes(const Job& job) {
  std::vector<std::uint32_t> first;  // by class, its first trace
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

/// What a call joins: its size, operation and category, then each pair of class and comm node with its number of
/// members.
std::vector<std::uint64_t> signature(const Call& call, const std::vector<std::uint32_t>& class_of) {
  std::vector<std::uint64_t> all;
  all.reserve(call.members.size() + 2);
  for (const Member& m : call.members) all.push_back(std::uint64_t{class_of[m.rank]} << 32 | m.comm);
  // The members of a message are not sorted: source and destination differ.
  if (call.op != CollectiveOp::sendrecv) std::sort(all.begin(), all.end());
  std::vector<std::uint64_t> out{static_cast<std::uint64_t>(call.bytes),
                                 static_cast<std::uint64_t>(call.op) << 32 | static_cast<std::uint64_t>(call.part)};
  for (std::size_t i = 0, same = 0; i < all.size(); i += same) {
    same = 1;
    while (i + same < all.size() && all[i + same] == all[i]) ++same;
    out.push_back(all[i]);
    out.push_back(same);
  }
  return out;
}

/// Splits classes of ranks until the ranks of each are identical. When a class splits, its largest part keeps the
/// number. Only calls of ranks with a new number are examined again, which keeps each round small along a chain of
/// stages.
class Splitter {
 public:
  Splitter(const Job& job, const Calls& calls)
      : calls_(calls), class_of_(by_nodes(job)), call_class_(calls.calls.size()) {
    ranks_of_.resize(1 + *std::max_element(class_of_.begin(), class_of_.end()));
    for (std::uint32_t r = 0; r < class_of_.size(); ++r) ranks_of_[class_of_[r]].push_back(r);
  }

  void run() {
    std::vector<std::uint32_t> calls(calls_.calls.size());
    std::iota(calls.begin(), calls.end(), 0u);
    while (!calls.empty()) {
      stop_if_requested();
      std::vector<std::uint32_t> changed;
      for (const std::uint32_t i : calls) {
        auto signed_as = signature(calls_.calls[i], class_of_);
        call_class_[i] =
            kinds_.try_emplace(std::move(signed_as), static_cast<std::uint32_t>(kinds_.size())).first->second;
        for (const Member& m : calls_.calls[i].members) changed.push_back(class_of_[m.rank]);
      }
      calls.clear();
      for (const std::uint32_t c : sorted(changed)) split(c, calls);
      calls = sorted(calls);
    }
  }
  const std::vector<std::uint32_t>& rank_classes() const { return class_of_; }
  const std::vector<std::uint32_t>& call_classes() const { return call_class_; }

 private:
  static std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  /// \param calls  receives the calls of ranks that get a new number
  void split(std::uint32_t c, std::vector<std::uint32_t>& calls) {
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> parts;
    for (const std::uint32_t r : ranks_of_[c]) {
      std::vector<std::uint32_t> key;
      for (const std::uint32_t call : calls_.of[r]) key.push_back(call == none ? none : call_class_[call]);
      parts[std::move(key)].push_back(r);
    }
    if (parts.size() == 1) return;
    auto largest = parts.begin();
    for (auto at = parts.begin(); at != parts.end(); ++at)
      if (at->second.size() > largest->second.size()) largest = at;
    for (auto at = parts.begin(); at != parts.end(); ++at) {
      if (at == largest) continue;
      for (const std::uint32_t r : at->second) {
        class_of_[r] = static_cast<std::uint32_t>(ranks_of_.size());
        for (const std::uint32_t call : calls_.of[r])
          if (call != none) calls.push_back(call);
      }
      ranks_of_.push_back(std::move(at->second));
    }
    ranks_of_[c] = std::move(largest->second);
  }

  const Calls& calls_;
  std::vector<std::uint32_t> class_of_, call_class_;
  std::vector<std::vector<std::uint32_t>> ranks_of_;  ///< by class
  std::map<std::vector<std::uint64_t>, std::uint32_t> kinds_;
};

/// Numbers the classes in order of first appearance. \returns the number of classes
std::uint32_t renumber(std::vector<std::uint32_t>& classes) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t& c : classes) c = numbers.try_emplace(c, static_cast<std::uint32_t>(numbers.size())).first->second;
  return static_cast<std::uint32_t>(numbers.size());
}

}  // namespace

Folded fold(const Job& job, const Calls& calls, bool is_on) {
  Folded f;
  if (is_on) {
    Splitter splitter(job, calls);
    splitter.run();
    f.actor_of = splitter.rank_classes();
    f.class_of = splitter.call_classes();
  } else {
    f.actor_of.resize(job.ranks());
    f.class_of.resize(calls.calls.size());
    std::iota(f.actor_of.begin(), f.actor_of.end(), 0u);
    std::iota(f.class_of.begin(), f.class_of.end(), 0u);
  }
  renumber(f.actor_of);
  f.classes = renumber(f.class_of);
  for (std::uint32_t r = 0; r < job.ranks(); ++r)
    if (f.actor_of[r] == f.rank_of.size()) f.rank_of.push_back(r);
  return f;
}

}  // namespace fabricast::trace
