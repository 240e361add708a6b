// Samples how much slower each stage computes in one step (variation.hpp has the model and the equation).
//
// Computation of different GPUs is not simulated one by one: the timeline has one actor per stage. Of all replicas only
// the slowest determines the step, so its factors per stage are what the timeline needs.
#include "variation.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

std::size_t coordinate(const ParallelLayout& layout, std::int64_t rank, Dimension d) {
  return static_cast<std::size_t>(layout.coordinates(rank)[static_cast<std::size_t>(d)]);
}

}  // namespace

// Faults with a clock slow down computation instead of links. They name hosts of the fabric; the job's hosts are in
// rank order.
std::vector<SlowPart> slow_parts(const World& world) {
  std::vector<SlowPart> slow;
  const std::vector<std::uint32_t>& hosts = world.allocation().main;
  for (const FaultSpec& fault : world.scenario().faults) {
    if (fault.clock.value >= 1) continue;
    unsigned number = 0;
    int gpu = -1;
    if (std::sscanf(fault.target().c_str(), "node%u.gpu%d", &number, &gpu) < 1) continue;
    for (std::size_t h = 0; h < hosts.size(); ++h)
      if (hosts[h] == number) slow.push_back({h, gpu, 1 / fault.clock.value});
  }
  return slow;
}

Variation::Variation(const TrainingStep& step, const VariationSpec& spec, std::vector<SlowPart> slow, int gpus_per_host,
                     const Program& program)
    : step_(step), spec_(spec), slow_(std::move(slow)), gpus_per_host_(gpus_per_host), work_(program.actors.size(), 0) {
  // Without variation `set_of_` stays empty, which `slower` takes as "nothing varies".
  if (spec.slow_hosts.value == 0 && spec.jitter.value == 0 && slow_.empty()) return;
  // Work is computation on the first stream, the one that factors of the timeline apply to.
  for (std::size_t i = 0; i < program.activities.size(); ++i)
    if (const Place place = program.places_of(i).front(); !program.activities[i].is_collective() && place.stream == 0)
      work_[place.actor] += program.activities[i].time.value;
  join_replicas();
}

/// Joins replicas that share groups of experts into sets, because they run at one pace.
void Variation::join_replicas() {
  const ParallelLayout& layout = step_.layout;
  set_of_.resize(static_cast<std::size_t>(layout.data));
  std::iota(set_of_.begin(), set_of_.end(), std::size_t{0});
  if (layout.expert > 1)
    for (const auto& group : expert_groups(layout, 0)) {
      const std::size_t first = set_of_[coordinate(layout, group.front(), Dimension::data)];
      for (const std::uint32_t rank : group) {
        const std::size_t other = set_of_[coordinate(layout, rank, Dimension::data)];
        if (other != first) std::replace(set_of_.begin(), set_of_.end(), other, first);
      }
    }
}

// An estimate, because running the timeline of every replica would take too long. All micro-batches pass the slowest
// stage; the others add one chunk of a micro-batch each, while the pipeline fills.
double Variation::seconds_of(const std::vector<double>& slower) const {
  double sum = 0, most = 0;
  for (std::size_t s = 0; s < slower.size(); ++s) {
    sum += slower[s] * work_[s];
    most = std::max(most, slower[s] * work_[s]);
  }
  return most + (sum - most) / (step_.micro_batches() * step_.interleave);
}

std::vector<double> Variation::slower(std::size_t sample) const {
  if (set_of_.empty()) return {};
  const ParallelLayout& layout = step_.layout;
  // The odd constant spreads seeds of neighbouring samples [Steele2014].
  Rng rng(static_cast<std::uint64_t>(spec_.seed) + sample * 0x9e3779b97f4a7c15ULL);
  std::vector<double> host(static_cast<std::size_t>((layout.ranks() + gpus_per_host_ - 1) / gpus_per_host_), 1);
  for (double& h : host)
    if (rng.uniform() < spec_.slow_hosts.value) h += spec_.slowdown.value;
  std::vector<std::vector<double>> sets(set_of_.size(), std::vector<double>(work_.size(), 0));
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    // Ranks are numbered host by host.
    const auto on = static_cast<std::size_t>(r / gpus_per_host_);
    double factor = host[on];
    // Named slow parts do not multiply with random ones: the slower of both counts.
    for (const SlowPart& slow : slow_)
      if (slow.host == on && (slow.gpu < 0 || slow.gpu == r % gpus_per_host_)) factor = std::max(factor, slow.factor);
    if (spec_.jitter.value > 0) factor *= std::max(0.0, 1 + spec_.jitter.value * rng.normal());
    // GPUs of a stage in one set communicate in every layer, so the slowest of them sets the pace.
    double& stage = sets[set_of_[coordinate(layout, r, Dimension::data)]][coordinate(layout, r, Dimension::pipeline)];
    stage = std::max(stage, factor);
  }
  return *std::max_element(sets.begin(), sets.end(),
                           [&](const auto& a, const auto& b) { return seconds_of(a) < seconds_of(b); });
}

}  // namespace fabricast
