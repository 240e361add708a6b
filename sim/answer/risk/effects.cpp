// Simulates a sample of each class of components, down or at a fraction of the rate (effects.hpp).
//
// A large fabric may have a hundred thousand cables, so most are not simulated. Elements of a class have the same share
// of the job below them, and differ by the place of their ranks and by the hash; the sample covers both by spreading
// over the class and over samples of the network.
#include "effects.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// To test whether a cable carries traffic, it is slowed to this fraction of its rate. It carries traffic if the step
/// then takes `noticeable` times as long or longer.
/// A cable at a thousandth of its rate delays any flow on it far beyond what else differs between two runs.
constexpr double crawl = 1e-3;
constexpr double noticeable = 1.001;

struct Task {
  std::size_t key = 0;
  std::uint32_t element = 0;
  int network_sample = 0;
  bool probes = false;  ///< tests for traffic instead of simulating the effect
};

/// Chooses elements of a class: one at a random place in each of several even strides, each with the next sample of the
/// network.
std::vector<Task> sample(std::size_t key, const EffectKey& of, const std::vector<std::uint32_t>& members,
                         int network_samples, const RiskOptions& options) {
  std::vector<Task> tasks;
  if (options.every) {
    for (const std::uint32_t element : members)
      for (int network_sample = 0; network_sample < network_samples; ++network_sample)
        tasks.push_back({key, element, network_sample, false});
    return tasks;
  }
  // The seed depends on the class and the rate, so the choice does not depend on which other effects are wanted.
  Rng rng(mix64(mix64(mix64(options.seed) + of.elements) + std::bit_cast<std::uint64_t>(of.left)));
  const std::size_t n = members.size(), most = static_cast<std::size_t>(options.elements);
  // With one sample of the network, simulating an element twice would give the same result.
  const std::size_t wanted = network_samples == 1 ? std::min(n, most) : most;
  for (std::size_t k = 0; k < wanted; ++k) {
    const std::size_t begin = k * n / wanted, end = std::max(begin + 1, (k + 1) * n / wanted);
    tasks.push_back({key, members[begin + rng.below(end - begin)],
                     static_cast<int>(k % static_cast<std::size_t>(network_samples)), false});
  }
  return tasks;
}

bool between_switches(Component c) { return c == Component::leaf_spine_cable || c == Component::spine_core_cable; }

}  // namespace

Effects find_effects(const World& world, Trials& trials, const Elements& elements, const std::vector<double>& healthy,
                     const std::vector<EffectKey>& wanted, const RiskOptions& options) {
  const bool spreads = is_spread(world.setup().paths());
  std::vector<Task> tasks;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const ElementClass& c = elements.classes()[wanted[k].elements];
    const std::vector<Task> own = sample(k, wanted[k], c.members, static_cast<int>(healthy.size()), options);
    tasks.insert(tasks.end(), own.begin(), own.end());
    if (!between_switches(c.component) || wanted[k].left > 0) continue;
    // A failed cable between switches whose traffic is rerouted may not slow the job, whether or not it carried
    // traffic. Flaps need to know which: without traffic they go unnoticed.
    for (Task task : own) {
      task.probes = true;
      tasks.push_back(task);
    }
  }
  std::vector<std::optional<Timed>> outcomes(tasks.size());
  TaskProgress progress(options.run.progress, tasks.size());
  in_parallel(tasks.size(), thread_count(options.run.threads), [&](std::size_t t) {
    const Task& task = tasks[t];
    const Component component = elements.classes()[wanted[task.key].elements].component;
    // Switches that spread traffic would avoid a single slow cable, so all cables from the switch are slowed.
    const std::vector<LinkId> links =
        task.probes && spreads ? elements.siblings(task.element) : elements.links(component, task.element);
    outcomes[t] = trials.run(task.network_sample, links, task.probes ? crawl : wanted[task.key].left);
    progress.one_done();
  });

  Effects effects;
  std::vector<std::pair<int, int>> crossed(wanted.size());  // cables with traffic, cables tested
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks[t];
    // Compared with the same sample of the network, so that differences of hashes do not look like effects of the
    // failure.
    const double usual = healthy[static_cast<std::size_t>(task.network_sample)];
    if (task.probes) {
      crossed[task.key].first += !outcomes[t] || outcomes[t]->seconds > noticeable * usual ? 1 : 0;
      ++crossed[task.key].second;
      continue;
    }
    Effect& effect = effects[wanted[task.key]];
    const double slowdown = outcomes[t] ? std::max(1.0, outcomes[t]->seconds / usual) : 1;
    // An element that stops the job is the worst example; among others the slowest.
    const bool first = effect.slowdowns.empty() && !effect.stops;
    if (first || (!outcomes[t] && !effect.stops) || (!effect.stops && slowdown > effect.worst))
      effect.example = elements.name(elements.classes()[wanted[task.key].elements].component, task.element);
    if (!outcomes[t])
      effect.stops = true;
    else {
      effect.slowdowns.push_back(slowdown);
      effect.worst = std::max(effect.worst, slowdown);
    }
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    Effect& effect = effects[wanted[k]];
    if (!effect.slowdowns.empty())
      effect.mean = std::accumulate(effect.slowdowns.begin(), effect.slowdowns.end(), 0.0) /
                    static_cast<double>(effect.slowdowns.size());
    if (crossed[k].second > 0) effect.carries = static_cast<double>(crossed[k].first) / crossed[k].second;
  }
  return effects;
}

}  // namespace fabricast
