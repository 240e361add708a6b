// Collectives in flight together: their shares of links that cannot carry all of them.
//
//   rates   max-min over the channels of all collectives, each at most its rate when its collective is alone
//   pace    T / T', with T' the time at these rates (collective.hpp)
//   (1)
//
// A link is omitted if it is not full even with every collective at its own rates. Collectives that then share no link
// are independent. The traffic of other jobs is in flight with each collective but does not connect them: collectives
// without a common link each share with all of that traffic. The first of several nodes where the same collectives do
// the same represents all of them.
#pragma once

#include <map>
#include <unordered_map>

#include "collective.hpp"

namespace fabricast {

/// Kinds in flight, ascending. A kind that is in flight twice is listed twice.
using Flight = std::vector<std::uint32_t>;

struct FlightHash {
  std::size_t operator()(const Flight& flight) const;
};

/// The paces of flights, cached. Not thread-safe.
class Meetings {
 public:
  /// \param collectives  by kind; those of a flight must be timed before the flight
  Meetings(const CollectiveTimer& timer, const std::vector<std::unique_ptr<Collective>>& collectives);
  /// Whether two kinds have a link in common.
  bool meet(std::uint32_t a, std::uint32_t b);
  /// The paces of a flight's kinds, in its order.
  const std::vector<double>& paces(const Flight& flight);

 private:
  std::vector<double> solve(const Flight& flight);
  void add_loads(const Flight& flight, const std::vector<double>& times);
  void clear_loads(const Flight& flight);
  bool is_contended(std::uint32_t resource) const;
  /// The paces of kinds that contended links connect. Each kind is listed once. \param times  number in flight, by kind
  std::vector<double> share(const Flight& flight, const std::vector<double>& times);
  /// Adds the channels of other jobs on a contended resource. \param first  number of the first of their items
  void add_others(std::uint32_t resource, std::uint32_t first, std::vector<LinkUse>& uses) const;
  void add_inside(const Flight& flight, const std::vector<double>& times, const std::vector<std::uint32_t>& base,
                  std::vector<LinkUse>& uses) const;

  const CollectiveTimer& timer_;
  const std::vector<std::unique_ptr<Collective>>& collectives_;
  std::vector<double> load_;         ///< by resource; 0 between calls
  std::vector<double> others_load_;  ///< by resource: load of other jobs; empty if there are none
  /// By resource: the one that it is behind for all kinds in flight, or none; `untouched` between calls.
  std::vector<std::uint32_t> behind_;
  std::unordered_map<Flight, std::vector<double>, FlightHash> flights_, joined_;
  /// By pair of kinds, the larger number first: whether they have a link in common, or unknown.
  std::vector<std::vector<signed char>> meet_;
};

}  // namespace fabricast
