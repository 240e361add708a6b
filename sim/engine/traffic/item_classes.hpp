// Traffic classes of the items that share links, and what a class counts for that does not always send.
//
// Items stand for averages over time (fabricast/engine/background.hpp). Take a link that two classes can fill, one of
// them always, the other during the fraction a of its time if it were alone: it sends W, then pauses for W (1 - a) / a.
// With weights v and v', both sending, it gets f = v / (v + v') of the link, so its period is W (1 / f + (1 - a) / a),
// and on average it gets the fraction
//
//     x = 1 / (1 / f + 1 / a - 1)          of the link, which is what ETS gives a class that always sends if its weight is
//
//     v a / (a + (1 - a) v / v')                                                                                  (1)
//
// For v = v' that is a v: as a connection of duty a counts as a of one. v' is the sum over the other classes on the
// link. Owners of items send at times of their own, and the items of an owner together, so for a class
//
//     a = 1 - prod over owners of (1 - max over its items of their duty)                                            (2)
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "fabricast/traffic/beside.hpp"

namespace fabricast {

/// By item, in the order in which they share.
struct ItemClasses {
  /// What counts of an item.
  struct Item {
    std::uint32_t owner = 0, in = 0;  ///< number of its owner, and of its class
    double busy = 1;                  ///< fraction of the time in which it sends
  };
  std::vector<ClassWeight> classes;  ///< empty: all items are in one, and are not listed
  std::vector<Item> items = {};

  /// An item of the job itself, whose channels are in flight.
  void add_own(const MeetingRule& rule) {
    if (!classes.empty()) items.push_back({~0U, rule.own, 1});
  }
  void add(const Background& others, std::uint32_t item) {
    if (!classes.empty()) items.push_back(of(others, item));
  }
  static Item of(const Background& others, std::uint32_t item) {
    return {others.owner[item], others.traffic_class[item], std::min(1.0, others.duty[item])};
  }
};

/// The weights of classes on one link, by (1) and (2).
class WeighedClasses {
 public:
  explicit WeighedClasses(const std::vector<ClassWeight>& classes) : classes_(classes) {}
  /// An item on the link.
  void add(const ItemClasses::Item& item);
  /// By class; the stated weight of a class without items.
  std::vector<double> weights() const;

 private:
  const std::vector<ClassWeight>& classes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> busy_;  ///< by class and owner
};

}  // namespace fabricast
