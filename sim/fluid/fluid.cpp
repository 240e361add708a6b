#include "fabricast/fluid/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "fabricast/core/error.hpp"
#include "fluid_clocks.hpp"
#include "fluid_levels.hpp"

namespace fabricast {

namespace {
constexpr double same_time = 1 + 1e-12;
constexpr std::uint32_t nowhere = FluidLevels::nowhere;
}  // namespace

/// Numbers for the outside, rows and slots for the solver: rows for links that are in use and for caps, slots for flows
/// that have not ended.
class FluidNetwork::State {
 public:
  State(std::vector<double> capacities, FluidOptions options)
      : capacity_(std::move(capacities)),
        row_of_(capacity_.size(), nowhere),
        levels_(options.tolerance, options.patience) {
    for (const double c : capacity_)
      FABRICAST_CHECK(c >= 0 && std::isfinite(c), "a capacity is finite, and not negative");
    FABRICAST_CHECK(options.tolerance >= 1e-14 && options.tolerance < 0.1, "rounding alone reaches 1e-15");
  }

  FlowId start(double bytes, std::span<const FluidUse> path, double weight, double cap) {
    FABRICAST_CHECK(bytes >= 0 && std::isfinite(bytes), "bytes are finite, and not negative");
    FABRICAST_CHECK(weight > 0 && std::isfinite(weight) && cap > 0, "weight and cap are positive");
    fold(path, weight);
    const std::uint32_t cap_row = std::isfinite(cap) ? add_cap(cap) : nowhere;
    if (cap_row != nowhere) uses_.push_back({cap_row, weight});
    const std::uint32_t slot = levels_.start(uses_);
    const FlowId id(slot_of_.size());
    slot_of_.push_back(slot);
    if (slot >= flows_.size()) flows_.resize(slot + 1);
    flows_[slot] = {id, weight, cap_row, bytes};
    clocks_.grow(levels_.rows(), levels_.flows());
    ++active_;
    dirty_ = true;
    return id;
  }

  double stop(FlowId id) {
    const double left = bytes_left(id);
    remove(slot(id));
    return left;
  }

  void set_capacity(std::uint32_t link, double rate) {
    FABRICAST_CHECK(rate >= 0 && std::isfinite(rate), "a capacity is finite, and not negative");
    capacity_.at(link) = rate;
    if (row_of_[link] == nowhere) return;
    levels_.set_capacity(row_of_[link], rate);
    dirty_ = true;
  }

  std::optional<FluidEvent> advance(double until) {
    FABRICAST_CHECK(until >= now_, "time does not go back");
    if (reported_ == ended_.size()) collect_ends(until);
    if (reported_ < ended_.size()) return ended_[reported_++];
    if (std::isfinite(until)) now_ = until;
    return std::nullopt;
  }

  double now() const { return now_; }
  std::size_t active() const { return active_; }

  double rate(FlowId id) {
    if (slot_of_.at(id.value) == nowhere) return 0;
    settle();
    return flows_[slot(id)].weight * levels_.level(levels_.bottleneck(slot(id)));
  }

  double bytes_left(FlowId id) {
    if (slot_of_.at(id.value) == nowhere) return 0;
    settle();
    return flows_[slot(id)].weight * clocks_.ahead(slot(id), now_);
  }

  std::uint32_t bottleneck(FlowId id) {
    settle();
    return link_of_[levels_.bottleneck(slot(id))];
  }

  bool stalled() {
    settle();
    return active_ > 0 && !std::isfinite(clocks_.next());
  }

  std::vector<std::uint32_t> blocking_links() {
    settle();
    std::vector<std::uint32_t> links;
    for (std::uint32_t link = 0; link < capacity_.size(); ++link)
      if (capacity_[link] == 0 && row_of_[link] != nowhere && levels_.is_bottleneck(row_of_[link]))
        links.push_back(link);
    return links;
  }

 private:
  struct Flow {
    FlowId id;
    double weight = 1;
    std::uint32_t cap_row = nowhere;
    double bytes = 0;  ///< at its start
  };

  std::uint32_t slot(FlowId id) const {
    const std::uint32_t slot = slot_of_.at(id.value);
    FABRICAST_CHECK(slot != nowhere, "the flow has ended");
    return slot;
  }

  /// Fills uses_ from a path, one entry per link.
  void fold(std::span<const FluidUse> path, double weight) {
    uses_.clear();
    for (const FluidUse& use : path) {
      FABRICAST_CHECK(use.multiplicity > 0 && std::isfinite(use.multiplicity), "a multiplicity is positive");
      uses_.push_back({row_of_link(use.link), use.multiplicity * weight});
    }
    std::sort(uses_.begin(), uses_.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
    std::size_t n = 0;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (n > 0 && uses_[n - 1].row == uses_[i].row)
        uses_[n - 1].weight += uses_[i].weight;
      else
        uses_[n++] = uses_[i];
    }
    uses_.resize(n);
  }

  std::uint32_t row_of_link(std::uint32_t link) {
    std::uint32_t& row = row_of_.at(link);
    if (row == nowhere) {
      row = levels_.add_row(capacity_[link]);
      link_of_.push_back(link);
    }
    return row;
  }

  std::uint32_t add_cap(double cap) {
    if (free_cap_rows_.empty()) {
      link_of_.push_back(no_link);
      return levels_.add_row(cap);
    }
    const std::uint32_t row = free_cap_rows_.back();
    free_cap_rows_.pop_back();
    levels_.set_capacity(row, cap);
    return row;
  }

  void remove(std::uint32_t slot) {
    Flow& flow = flows_[slot];
    clocks_.leave(slot, now_);
    levels_.finish(slot);
    if (flow.cap_row != nowhere) free_cap_rows_.push_back(flow.cap_row);
    slot_of_[flow.id.value] = nowhere;
    --active_;
    dirty_ = true;
  }

  /// Levels first, then the clocks follow.
  void settle() {
    if (!std::exchange(dirty_, false)) return;
    levels_.settle();
    for (const std::uint32_t row : levels_.changed_rows()) clocks_.set_pace(row, levels_.level(row), now_);
    for (const std::uint32_t slot : levels_.moved_flows()) {
      const std::uint32_t from = clocks_.row(slot), to = levels_.bottleneck(slot);
      if (from == to) continue;
      const double ahead = from == nowhere ? flows_[slot].bytes / flows_[slot].weight : clocks_.leave(slot, now_);
      clocks_.join(slot, to, ahead, now_);
    }
    levels_.forget_changes();
  }

  void collect_ends(double until) {
    settle();
    const double time = clocks_.next();
    if (time > until || !std::isfinite(time)) return;
    now_ = time;
    due_.clear();
    clocks_.due(time * same_time, due_);
    ended_.clear();
    reported_ = 0;
    for (const std::uint32_t slot : due_) {
      ended_.push_back({now_, flows_[slot].id, link_of_[levels_.bottleneck(slot)]});
      remove(slot);
    }
    std::sort(ended_.begin(), ended_.end(), [](const FluidEvent& a, const FluidEvent& b) {
      return std::tie(a.bottleneck, a.flow) < std::tie(b.bottleneck, b.flow);
    });
  }

  std::vector<double> capacity_;       ///< by link
  std::vector<std::uint32_t> row_of_;  ///< by link
  std::vector<std::uint32_t> link_of_, free_cap_rows_;
  std::vector<std::uint32_t> slot_of_;  ///< by flow
  std::vector<Flow> flows_;             ///< by slot
  FluidLevels levels_;
  FluidClocks clocks_;
  std::vector<FluidLevels::Use> uses_;
  std::vector<std::uint32_t> due_;
  std::vector<FluidEvent> ended_;  ///< at the last event
  std::size_t reported_ = 0;       ///< of ended_
  std::size_t active_ = 0;
  double now_ = 0;
  bool dirty_ = false;
};

FluidNetwork::FluidNetwork(std::vector<double> capacities, FluidOptions options)
    : state_(std::make_unique<State>(std::move(capacities), options)) {}
FluidNetwork::~FluidNetwork() = default;
FluidNetwork::FluidNetwork(FluidNetwork&&) noexcept = default;
FluidNetwork& FluidNetwork::operator=(FluidNetwork&&) noexcept = default;

FlowId FluidNetwork::start(double bytes, std::span<const FluidUse> path, double weight, double cap) {
  return state_->start(bytes, path, weight, cap);
}
double FluidNetwork::stop(FlowId flow) { return state_->stop(flow); }
void FluidNetwork::set_capacity(std::uint32_t link, double rate) { state_->set_capacity(link, rate); }
std::optional<FluidEvent> FluidNetwork::advance(double until) { return state_->advance(until); }
double FluidNetwork::now() const { return state_->now(); }
std::size_t FluidNetwork::active() const { return state_->active(); }
double FluidNetwork::rate(FlowId flow) const { return state_->rate(flow); }
double FluidNetwork::bytes_left(FlowId flow) const { return state_->bytes_left(flow); }
std::uint32_t FluidNetwork::bottleneck(FlowId flow) const { return state_->bottleneck(flow); }
bool FluidNetwork::stalled() const { return state_->stalled(); }
std::vector<std::uint32_t> FluidNetwork::blocking_links() const { return state_->blocking_links(); }

}  // namespace fabricast
