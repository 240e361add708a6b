// The levels of a fluid network, repaired after each change instead of solved anew (notation: engine/fluid.hpp).
//
// A *row* is a link that flows cross, or the cap of one flow. What is kept of a row l besides C_l:
//
//     level_l       infinite while the row is not full
//     members       M_l: the flows whose bottleneck it is; W_l = sum of their weights here
//     taken         R_l: what the other flows on it take
//     out           for each row j that members of l cross: n_lj, the sum of their weights on j
//     in            for each row j that is the bottleneck of flows on l: n_jl
//
// Flows have no level of their own: it is that of their bottleneck. Between calls of settle() rows may wait in the
// queue for a new level; all others satisfy
//
//     level_l = (C_l - R_l) / W_l,   or R_l <= C_l, no member, and level_l = infinity                              (1)
//     level_j <= level_l  for each j in in_l:  a flow's bottleneck is the row with the least level on its path     (2)
//
// both within the tolerance. A row that breaks (2) takes over the flows concerned when its turn comes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "level_queue.hpp"
#include "pair_list.hpp"

namespace fabricast {

class FluidLevels {
 public:
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
  static constexpr double unbounded = std::numeric_limits<double>::infinity();

  /// A flow takes `weight` times its level of a row.
  struct Use {
    std::uint32_t row;
    double weight;
  };

  FluidLevels(double tolerance, double patience);

  std::uint32_t add_row(double capacity);
  void set_capacity(std::uint32_t row, double capacity);

  /// Each row at most once, at least one row. Returns a number that is free.
  std::uint32_t start(std::span<const Use> path);
  /// \pre the flow has a bottleneck
  void finish(std::uint32_t flow);

  /// Brings every level up to date with what was called before.
  void settle();

  double level(std::uint32_t row) const { return gauges_[row].level; }
  std::uint32_t bottleneck(std::uint32_t flow) const { return flows_[flow].bottleneck; }
  bool is_bottleneck(std::uint32_t row) const { return !rows_[row].members.empty(); }
  std::size_t rows() const { return rows_.size(); }
  std::size_t flows() const { return flows_.size(); }

  /// Rows whose level, and flows whose bottleneck may have changed since forget_changes(); flows may be repeated.
  std::span<const std::uint32_t> changed_rows() const { return changed_rows_; }
  std::span<const std::uint32_t> moved_flows() const { return moved_flows_; }
  void forget_changes();

 private:
  /// What changes most, apart. A row needs a new level once `taken` leaves [low, high].
  struct Gauge {
    double taken = 0;
    double low = 0, high = 0;
    double level = unbounded;
  };
  struct Row {
    double capacity = 0;
    double weight = 0;  ///< W: exactly 0 where there is no member
    std::vector<std::uint32_t> members;
    PairList out, in;
    std::uint32_t visits = 0;
    bool changed = false;
  };
  struct Flow {
    std::vector<Use> path;
    std::uint32_t bottleneck = nowhere;
    std::uint32_t place = 0;  ///< among its members
  };
  /// The members of `row` that cross some other row, seen from there.
  struct Group {
    double level, weight;
    std::uint32_t row;
  };

  /// What members get: an arrival on a row that is not full gets nothing until the row has a level.
  double paid(std::uint32_t row) const { return gauges_[row].level < unbounded ? gauges_[row].level : 0; }
  double slack(const Row& row, double level) const;
  void sum_taken(std::uint32_t row);
  void sum_weight(std::uint32_t row);
  void set_gauge(std::uint32_t row);
  void consider(std::uint32_t row, double floor);
  void enqueue(std::uint32_t row, double floor);

  void attach(std::uint32_t flow, std::uint32_t to);
  void detach(std::uint32_t flow);
  void move(std::uint32_t flow, std::uint32_t to);
  void admit(std::uint32_t flow);

  void relax();
  void visit(std::uint32_t row);
  double take_over(std::uint32_t row, double level);
  void set_level(std::uint32_t row, double level);
  void change_level(std::uint32_t row, double level);
  void refill();

  double tolerance_, patience_;
  double full_;  ///< a row is full where it carries more than this times its capacity
  std::vector<Gauge> gauges_;
  std::vector<Row> rows_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_flows_, arrivals_;
  std::size_t active_ = 0;
  LevelQueue queue_;
  std::uint32_t in_hand_ = nowhere;  ///< the row whose level is being set
  std::vector<std::uint32_t> changed_rows_, moved_flows_;
  std::vector<Group> groups_;                        ///< what the row in hand takes over,
  std::vector<std::uint32_t> newcomers_, affected_;  ///< flow by flow, and the rows it changes
};

}  // namespace fabricast
