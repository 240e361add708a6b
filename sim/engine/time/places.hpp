// Which stations of a path stand for the users of a GPU's links, and for which fraction of them:
//
//   part_j = users that station j stands for / all users,       sum over j of part_j = 1                            (1)
//
// A pipeline follows one path, while channels at other positions use the same links. Each of these channels counts with
// the station of the path that is busy at about the same time (pipeline.hpp).
#pragma once

#include <algorithm>
#include <vector>

#include "pipeline.hpp"

namespace fabricast {

/// Merges the entries of each station and scales the parts to a sum of 1. Opposite parts are scaled with the same
/// factor.
inline void merge_users(std::vector<PlaceUser>& users) {
  double all = 0;
  for (const PlaceUser& user : users) all += user.part;
  std::sort(users.begin(), users.end(), [](const PlaceUser& a, const PlaceUser& b) { return a.station < b.station; });
  std::size_t kept = 0;
  for (const PlaceUser& user : users)
    if (kept > 0 && users[kept - 1].station == user.station) {
      users[kept - 1].part += user.part;
      users[kept - 1].opposite += user.opposite;
    } else
      users[kept++] = user;
  users.resize(kept);
  // Opposite parts refer to the same sum, because the two directions are compared, and the slower one counts.
  for (PlaceUser& user : users) {
    user.part /= all;
    user.opposite /= all;
  }
}

/// The users of a hop between two neighbours in chains of GPUs: those of the sender's links, or of the receiver's if
/// they are more. Chains run up to their first GPU and down again.
/// \param use          slices by channel; 0: the channel is done
/// \param chain_of     (channel) -> its GPUs in order
/// \param station_of   (channel, position, up) -> the station that stands for what leaves there
template <class ChainOf, class StationOf>
std::vector<PlaceUser> users_of_hop(const std::vector<double>& use, int sender, int receiver, ChainOf chain_of,
                                    StationOf station_of) {
  std::vector<PlaceUser> by_sender, by_receiver;
  by_sender.reserve(2 * use.size());
  by_receiver.reserve(2 * use.size());
  for (int c = 0; c < static_cast<int>(use.size()); ++c) {
    if (use[static_cast<std::size_t>(c)] == 0) continue;
    const std::vector<int>& gpus = chain_of(c);
    const auto add = [&](std::vector<PlaceUser>& users, int p, bool up) {
      const auto n = static_cast<int>(gpus.size());
      // Upward a chain ends at its first GPU, and downward at its last one. No hop leaves these.
      if (up ? p > 0 && p < n : p >= 0 && p + 1 < n) users.push_back({station_of(c, p, up), 1});
    };
    int p = static_cast<int>(gpus.size()), q = p;
    for (int i = 0; i < static_cast<int>(gpus.size()); ++i) {
      const int gpu = gpus[static_cast<std::size_t>(i)];
      if (gpu == sender) p = i;
      if (gpu == receiver) q = i;
    }
    add(by_sender, p, true);
    add(by_sender, p, false);
    add(by_receiver, q + 1, true);
    add(by_receiver, q - 1, false);
  }
  // The end with more users saturates first.
  return std::move(by_receiver.size() > by_sender.size() ? by_receiver : by_sender);
}

}  // namespace fabricast
