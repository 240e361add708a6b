#include "search_store.hpp"

#include <algorithm>

#include "fabricast/planner/search.hpp"

namespace fabricast {

// Two locks: the store's own is held only while an entry is found or made, and that of the entry during its search.
// Threads with different requests therefore search concurrently, and threads with the same one search once.
SearchGraph SearchStore::of(const NcclSystem& system, const SearchRequest& request,
                            const std::function<SearchGraph()>& search) {
  Known& one = known(system, request);
  const std::scoped_lock lock(one.mutex);
  if (!one.graph) one.graph = search();
  return *one.graph;
}

SearchStore::Known& SearchStore::known(const NcclSystem& system, const SearchRequest& request) {
  const std::scoped_lock lock(mutex_);
  // A linear search suffices: a run has few kinds of nodes, and comparing two systems is far cheaper than one search.
  // Entries are never removed, so the reference stays valid.
  auto of = std::find_if(systems_.begin(), systems_.end(), [&](const OfSystem& s) { return s.system == system; });
  if (of == systems_.end()) of = systems_.insert(of, {system, {}});
  auto& list = of->known;
  auto at = std::find_if(list.begin(), list.end(), [&](const auto& k) { return k->request == request; });
  if (at == list.end()) {
    at = list.insert(at, std::make_unique<Known>());
    (*at)->request = request;
  }
  return **at;
}

std::shared_ptr<SearchStore> make_search_store() { return std::make_shared<SearchStore>(); }

}  // namespace fabricast
