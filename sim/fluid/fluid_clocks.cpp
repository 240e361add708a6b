#include "fluid_clocks.hpp"

#include <algorithm>

namespace fabricast {

void FluidClocks::grow(std::size_t rows, std::size_t flows) {
  clocks_.resize(std::max(clocks_.size(), rows));
  queues_.resize(clocks_.size());
  seats_.resize(std::max(seats_.size(), flows));
  ends_.grow(clocks_.size());
}

double FluidClocks::time_of(const Clock& clock, double tag) {
  if (tag <= clock.value) return clock.since;
  return clock.pace > 0 ? clock.since + (tag - clock.value) / clock.pace : never;
}

void FluidClocks::set_pace(std::uint32_t row, double level, double now) {
  Clock& clock = clocks_[row];
  advance(clock, now);
  clock.pace = level < never ? level : 0;
  plan(row);
}

void FluidClocks::join(std::uint32_t flow, std::uint32_t row, double ahead, double now) {
  Clock& clock = clocks_[row];
  Queue& queue = queues_[row];
  advance(clock, now);
  // Once per turnover of members: that costs little, and V stays within what a member may have before it.
  if (++queue.joins >= queue.heap.size()) set_back(row);
  seats_[flow].row = row;
  queue.heap.emplace_back();
  rise(queue.heap, queue.heap.size() - 1, {clock.value + ahead, flow});
  clock.first = queue.heap.front().value;
  plan(row);
}

double FluidClocks::leave(std::uint32_t flow, double now) {
  const Seat seat = seats_[flow];
  Clock& clock = clocks_[seat.row];
  std::vector<Tag>& heap = queues_[seat.row].heap;
  advance(clock, now);
  const double left = std::max(0.0, heap[seat.place].value - clock.value);
  const Tag last = heap.back();
  heap.pop_back();
  if (seat.place < heap.size()) {
    if (seat.place > 0 && last.value < heap[(seat.place - 1) / 2].value)
      rise(heap, seat.place, last);
    else
      sink(heap, seat.place, last);
  }
  seats_[flow].row = nowhere;
  clock.first = heap.empty() ? never : heap.front().value;
  plan(seat.row);
  return left;
}

double FluidClocks::ahead(std::uint32_t flow, double now) const {
  const Seat& seat = seats_[flow];
  return std::max(0.0, queues_[seat.row].heap[seat.place].value - value_at(clocks_[seat.row], now));
}

void FluidClocks::due(double limit, std::vector<std::uint32_t>& flows) const {
  ends_.up_to(limit, [&](std::uint32_t row) { collect(row, 0, limit, flows); });
}

void FluidClocks::collect(std::uint32_t row, std::size_t place, double limit, std::vector<std::uint32_t>& flows) const {
  const std::vector<Tag>& heap = queues_[row].heap;
  if (place >= heap.size() || time_of(clocks_[row], heap[place].value) > limit) return;
  flows.push_back(heap[place].flow);
  collect(row, 2 * place + 1, limit, flows);
  collect(row, 2 * place + 2, limit, flows);
}

/// Subtraction keeps the order of tags, hence the heap.
void FluidClocks::set_back(std::uint32_t row) {
  for (Tag& tag : queues_[row].heap) tag.value -= clocks_[row].value;
  clocks_[row].value = 0;
  queues_[row].joins = 0;
}

void FluidClocks::put(std::vector<Tag>& heap, std::size_t place, Tag tag) {
  heap[place] = tag;
  seats_[tag.flow].place = static_cast<std::uint32_t>(place);
}

void FluidClocks::rise(std::vector<Tag>& heap, std::size_t place, Tag tag) {
  for (; place > 0 && tag.value < heap[(place - 1) / 2].value; place = (place - 1) / 2)
    put(heap, place, heap[(place - 1) / 2]);
  put(heap, place, tag);
}

void FluidClocks::sink(std::vector<Tag>& heap, std::size_t place, Tag tag) {
  for (std::size_t child; (child = 2 * place + 1) < heap.size(); place = child) {
    if (child + 1 < heap.size() && heap[child + 1].value < heap[child].value) ++child;
    if (heap[child].value >= tag.value) break;
    put(heap, place, heap[child]);
  }
  put(heap, place, tag);
}

}  // namespace fabricast
