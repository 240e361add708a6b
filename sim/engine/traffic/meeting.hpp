// Exchanges in flight together: what each gets of links that all of them could not have.
//
//   rates   max-min over the channels of all of them, each at most what it has when its exchange is alone
//   pace    T / T', with T' as T at these rates (collective.hpp)                                                      (1)
//
// A link is left out if it is not full even with every exchange at its own rates. Exchanges that then share no link are
// independent. Other jobs are in flight with each of them, but join none: of those that share no link with each other
// each finds the others' traffic as if it were alone with it. Of nodes where the same exchanges do the same the first
// one stands for all.
#pragma once

#include <map>
#include <unordered_map>

#include "collective.hpp"

namespace fabricast {

/// Exchanges by number, rising; one that is in flight twice is there twice.
using Flight = std::vector<std::uint32_t>;

struct FlightHash {
  std::size_t operator()(const Flight& flight) const;
};

class Meetings {
 public:
  /// \param exchanges  by number; those of a flight must be there when it is asked for
  Meetings(const CollectiveTimer& timer, const std::vector<std::unique_ptr<Collective>>& collectives);
  /// Whether two exchanges have a link in common.
  bool meet(std::uint32_t a, std::uint32_t b);
  /// Paces of all; kept for the next time.
  const std::vector<double>& paces(const Flight& flight);

 private:
  std::vector<double> solve(const Flight& flight);
  void add_loads(const Flight& flight, const std::vector<double>& times);
  void clear_loads(const Flight& flight);
  bool is_contended(std::uint32_t resource) const;
  /// Paces of exchanges that are joined by crowded links, each different one once. \param times in flight
  std::vector<double> share(const Flight& flight, const std::vector<double>& times);
  /// Other jobs' channels on a crowded resource. \param first  number of the first of their items
  void add_others(std::uint32_t resource, std::uint32_t first, std::vector<LinkUse>& uses) const;
  void add_inside(const Flight& flight, const std::vector<double>& times, const std::vector<std::uint32_t>& base,
                  std::vector<LinkUse>& uses) const;

  const CollectiveTimer& timer_;
  const std::vector<std::unique_ptr<Collective>>& collectives_;
  std::vector<double> load_;         ///< by resource; 0 between calls
  std::vector<double> others_load_;  ///< by resource: of other jobs; empty if there are none
  /// By resource: what all exchanges in flight have it behind, or none; untouched between calls.
  std::vector<std::uint32_t> behind_;
  std::unordered_map<Flight, std::vector<double>, FlightHash> flights_, joined_;
  /// By pair, the larger number first: whether they have a link in common; unknown until it is asked for.
  std::vector<std::vector<signed char>> meet_;
};

}  // namespace fabricast
