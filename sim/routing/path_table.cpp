// Lists of minimal paths (path_table.hpp).
#include "path_table.hpp"

#include <algorithm>
#include <limits>

namespace fabricast {

PathTable::PathTable(const GraphPaths& paths, bool ways) : n_(paths.switches()) {
  for (std::uint32_t at = 0; at < n_; ++at) first_.push_back(paths.first_cables(at));
  for (std::uint32_t c = 0; c < paths.cables(); ++c) {
    cables_.push_back({paths.end_of_cables(c), paths.links_of_cables(c)});
    latency_.push_back(paths.latency(paths.link_of_cables(c, 0)));
    for (std::uint32_t i = 0; i < cables_.back().links; ++i) links_.push_back(paths.link_of_cables(c, i));
  }
  heads_.reserve(std::size_t{n_} * n_);
  std::vector<std::uint16_t> own;
  std::vector<std::uint32_t> chosen, links;
  std::vector<std::vector<std::uint16_t>> at_distance;
  for (std::uint32_t to = 0; to < n_; ++to) {
    columns_.push_back({heads_.size(), chosen_.size()});
    const std::vector<std::uint16_t>& distance = paths.distances_to(to, own);
    for (std::uint32_t at = 0; at < n_; ++at) {
      if (distance[at] == GraphPaths::far) continue;
      if (at_distance.size() <= distance[at]) at_distance.resize(distance[at] + std::size_t{1});
      at_distance[distance[at]].push_back(static_cast<std::uint16_t>(at));
    }
    for (std::vector<std::uint16_t>& alike : at_distance) {
      for (const std::uint16_t at : alike) {
        chosen.clear();
        if (at != to) paths.choose(at, distance, chosen, links);
        heads_.push_back({at, static_cast<std::uint16_t>(chosen.size())});
        for (const std::uint32_t c : chosen) chosen_.push_back(static_cast<std::uint16_t>(c - first_[at]));
      }
      alike.clear();
    }
  }
  columns_.push_back({heads_.size(), chosen_.size()});
  if (ways) list_places(paths.fabric().links());
}

void PathTable::list_places(std::uint32_t links) {
  words_ = links / 64 + 1;
  places_.resize(std::size_t{n_} * n_);
  for (std::uint32_t to = 0; to < n_; ++to) {
    std::uint32_t chosen = 0;
    for (std::size_t h = columns_[to].heads; h < columns_[to + 1].heads; ++h) {
      const auto [at, choices] = heads_[h];
      places_[std::size_t{to} * n_ + at] = {chosen, static_cast<std::uint16_t>(h - columns_[to].heads), choices};
      chosen += choices;
    }
  }
  cables_of_.resize(links);
  for (std::uint32_t c = 0, link = 0; c < cables_.size(); ++c) {
    first_link_.push_back(link);
    for (std::uint32_t i = 0; i < cables_[c].links; ++i) cables_of_[links_[link++]] = c;
  }
}

// From far to near, so that all flows over a switch leave it together.
void PathTable::spread(std::vector<double>& flows, std::span<double> on) const {
  std::vector<double> on_cables(cables_.size(), 0);
  for (std::uint32_t to = 0; to < n_; ++to) {
    double* const amount = flows.data() + std::size_t{to} * n_;
    std::size_t chosen = columns_[to + 1].chosen;
    for (std::size_t h = columns_[to + 1].heads; h-- > columns_[to].heads + 1;) {
      chosen -= heads_[h].choices;
      const double here = amount[heads_[h].at];
      if (here == 0) continue;
      for_each_choice(heads_[h], chosen_.data() + chosen, [&](std::uint32_t c, double part) {
        on_cables[c] += here * part;
        amount[cables_[c].to] += here * part;
      });
    }
  }
  for_each_link(on_cables, [&](std::uint32_t link, double part) { on[link] += part; });
}

// The switches that wait are a heap by rank, the highest first. Next hops are nearer, so of a lower rank.
void PathTable::move_to(std::uint32_t to, Front& front, Load& load) const {
  const Place* const places = places_.data() + std::size_t{to} * n_;
  const std::uint16_t* const chosen = chosen_.data() + columns_[to].chosen;
  std::vector<std::uint32_t> waiting;
  const auto wait = [&](std::uint32_t at) {
    if (places[at].rank == 0) return false;
    waiting.push_back(std::uint32_t{places[at].rank} << 16 | at);
    return true;
  };
  for (const std::uint32_t at : front.where) wait(at);
  front.where.clear();
  std::make_heap(waiting.begin(), waiting.end());
  while (!waiting.empty()) {
    std::pop_heap(waiting.begin(), waiting.end());
    const std::uint32_t at = waiting.back() & 0xFFFF;
    waiting.pop_back();
    const double here = front.flows[at];
    const Seconds latency = front.latency[at];
    for_each_choice({static_cast<std::uint16_t>(at), places[at].choices}, chosen + places[at].chosen,
                    [&](std::uint32_t c, double part) {
                      if (load.on[c] == 0) load.cables.push_back(c);
                      load.on[c] += here * part;
                      const std::uint32_t next = cables_[c].to;
                      if (front.latency[next] < Seconds{0} && wait(next))
                        std::push_heap(waiting.begin(), waiting.end());
                      front.flows[next] += here * part;
                      front.latency[next] = std::max(front.latency[next], latency + latency_[c]);
                    });
    front.clear(at);
  }
  front.where.push_back(to);
}

// From near to far, so that the costs of all next hops are known.
void PathTable::costs(std::span<const double> price, std::vector<double>& costs) const {
  std::vector<double> of_cables(cables_.size(), 0);
  std::size_t link = 0;
  for (std::size_t c = 0; c < cables_.size(); ++c)
    for (std::uint32_t i = 0; i < cables_[c].links; ++i) of_cables[c] += price[links_[link++]];
  costs.assign(std::size_t{n_} * n_, std::numeric_limits<double>::infinity());
  const std::uint16_t* next = chosen_.data();
  for (std::uint32_t to = 0; to < n_; ++to) {
    double* const cost = costs.data() + std::size_t{to} * n_;
    cost[to] = 0;
    for (std::size_t h = columns_[to].heads + 1; h < columns_[to + 1].heads; ++h) {
      const auto [at, choices] = heads_[h];
      double sum = 0, all = 0;
      for (std::uint32_t i = 0; i < choices; ++i) {
        const std::uint32_t c = first_[at] + *next++;
        sum += of_cables[c] + cables_[c].links * cost[cables_[c].to];
        all += cables_[c].links;
      }
      cost[at] = sum / all;
    }
  }
}

}  // namespace fabricast
