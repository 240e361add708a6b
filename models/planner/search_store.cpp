#include "search_store.hpp"

#include <algorithm>

namespace fabricast {

// Two locks: the store's own is held only while an entry is found or made, and that of the entry during its search.
// Threads with different requests therefore search concurrently, and threads with the same one search once.
SearchGraph SearchStore::of(const NcclSystem& system, const SearchRequest& request,
                            const std::function<SearchGraph()>& search) {
  const std::shared_ptr<Known> one = known(system, request);
  const std::scoped_lock lock(one->mutex);
  if (!one->graph) one->graph = search();
  return *one->graph;
}

// A linear search suffices: a run has few kinds of nodes, and comparing two systems is far cheaper than one search.
std::shared_ptr<SearchStore::Known> SearchStore::known(const NcclSystem& system, const SearchRequest& request) {
  const std::scoped_lock lock(mutex_);
  const auto of = std::find_if(systems_.begin(), systems_.end(), [&](const OfSystem& s) { return s.system == system; });
  if (of == systems_.end())
    systems_.push_front({system, {}});
  else
    systems_.splice(systems_.begin(), systems_, of);
  if (systems_.size() > most_systems_) systems_.pop_back();
  auto& list = systems_.front().known;
  const auto at = std::find_if(list.begin(), list.end(), [&](const auto& k) { return k->request == request; });
  if (at != list.end()) return *at;
  list.push_back(std::make_shared<Known>());
  list.back()->request = request;
  return list.back();
}

}  // namespace fabricast
