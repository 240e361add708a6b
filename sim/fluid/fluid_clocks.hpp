// When the flows of a fluid network end, given the levels of their bottlenecks.
//
// Members of a row all advance by its level per unit of weight, so one clock serves them: dV/dt = level. A flow that
// joins with `ahead` (bytes left / weight) ends when the clock shows its *tag*, V + ahead. A new level changes no tag:
// only when the row's first tag comes up. Tags of a row are in a heap; the first ends of all rows in a tournament.
//
// V is set back to 0 from time to time, or the digits of the bytes left would drown in it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "completion_tree.hpp"

namespace fabricast {

class FluidClocks {
 public:
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

  void grow(std::size_t rows, std::size_t flows);

  void set_pace(std::uint32_t row, double level, double now);
  /// \param ahead what is left, per unit of weight
  void join(std::uint32_t flow, std::uint32_t row, double ahead, double now);
  /// Returns what is left, per unit of weight.
  double leave(std::uint32_t flow, double now);

  double ahead(std::uint32_t flow, double now) const;
  /// The row that a flow has joined, or nowhere.
  std::uint32_t row(std::uint32_t flow) const { return seats_[flow].row; }

  /// Time of the next end; infinite if none comes.
  double next() const { return ends_.least(); }
  /// Adds the flows that end no later than `limit`, in no particular order.
  void due(double limit, std::vector<std::uint32_t>& flows) const;

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct Clock {
    double value = 0;      ///< V at `since`
    double since = 0;      ///< time
    double pace = 0;       ///< dV/dt from then on
    double first = never;  ///< least tag
  };
  struct Tag {
    double value;
    std::uint32_t flow;
  };
  struct Queue {
    std::vector<Tag> heap;    ///< binary, least value first
    std::uint32_t joins = 0;  ///< since V was last set back
  };
  struct Seat {
    std::uint32_t row = nowhere;
    std::uint32_t place = 0;  ///< in the row's heap
  };

  static double value_at(const Clock& clock, double now) { return clock.value + clock.pace * (now - clock.since); }
  static void advance(Clock& clock, double now) { clock.value = value_at(clock, now), clock.since = now; }
  static double time_of(const Clock& clock, double tag);
  void plan(std::uint32_t row) { ends_.set(row, time_of(clocks_[row], clocks_[row].first)); }
  void set_back(std::uint32_t row);
  void put(std::vector<Tag>& heap, std::size_t place, Tag tag);
  void rise(std::vector<Tag>& heap, std::size_t place, Tag tag);
  void sink(std::vector<Tag>& heap, std::size_t place, Tag tag);
  void collect(std::uint32_t row, std::size_t place, double limit, std::vector<std::uint32_t>& flows) const;

  std::vector<Clock> clocks_;  ///< by row
  std::vector<Queue> queues_;  ///< by row
  std::vector<Seat> seats_;    ///< by flow
  CompletionTree ends_;        ///< by row
};

}  // namespace fabricast
