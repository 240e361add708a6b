// Requests under load: translates a scenario into a load and a pool of replicas, serves it (workload/serving_load.hpp)
// with the clock of pass_clock.cpp, and summarizes the waits.
//
// Simulating one group of replicas stands for all of them: a router that sends each request to the replica with the
// fewest keeps them alike. Rates are scaled back by the simulated share.
#include "requests.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fabricast/core/stop.hpp"
#include "pass_clock.hpp"
#include "prefix.hpp"

namespace fabricast {

namespace {

/// Number of replicas that share experts, so that their passes begin together.
int together(const InferenceStep& step) {
  if (step.model.experts == 0) return 1;
  return std::max(1, step.layout.expert * step.layout.expert_tensor / step.layout.tensor);
}

/// Replicas that serve alike.
/// \param cache  tokens that a replica's KV cache holds; 0: no limit, as for prefill GPUs, whose caches are sent away
ServingPool pool_of(const InferenceSpec& spec, const InferenceStep& step, int replicas, std::int64_t cache,
                    PassClock& clock) {
  ServingPool pool;
  pool.replicas = replicas;
  pool.together = together(step);
  pool.sequences = spec.batch;
  pool.tokens = step.chunk;
  pool.cache = cache;
  pool.reserved = step.stack.reserves;
  pool.width = 1 + step.speculation.tokens;
  pool.tokens_per_step = step.speculation.tokens_per_step();
  pool.prompts = prompt_policy(spec, step.stack);
  // The clock fills its grid while the load runs. A load takes seconds, so Ctrl-C is checked at each pass.
  pool.time = [&clock](std::span<const InferencePass> passes) {
    stop_if_requested();
    return Seconds{clock(passes)};
  };
  return pool;
}

/// Half of the frontend's time precedes the engine and half follows. During `request_serial` of it the frontend handles
/// no other request (docs/models/inference.md).
/// \param more  additional time of the frontend per request
/// \param load  time to load a cached token
Frontend frontend_of(const ServingStack& stack, Seconds more, Seconds load) {
  const Seconds both = stack.request_fixed.us() + more;
  return {both / 2, both / 2, stack.request_serial.us(), load};
}

/// Requests of a trace for the simulated share of all replicas: every n-th request from the first one on.
/// \param most  maximum number of requests; 0: no limit
ServingLoad load_of(const std::vector<ServingRequest>& trace, std::int64_t most, double share) {
  ServingLoad load;
  // Every n-th request instead of the first part of the file: bursts and quiet times of the trace stay, thinned out.
  const auto every = static_cast<std::size_t>(std::max(1.0, std::round(1 / share)));
  for (std::size_t i = 0; i < trace.size(); i += every) {
    if (most > 0 && static_cast<std::int64_t>(load.requests.size()) >= most) break;
    load.requests.push_back(trace[i]);
  }
  return load;
}

/// Number of requests at the start that are excluded from waiting times.
/// In a closed loop all clients begin at once, so the first request of each meets an empty engine and a burst of
/// prompts. Benchmarks exclude them.
std::int64_t warmup_of(const LoadSpec& spec, std::int64_t clients) {
  if (spec.warmup >= 0) return spec.warmup;
  return spec.arrivals == Arrivals::closed ? clients : 0;
}

/// The load for a fraction of all replicas. \param share  that fraction
ServingLoad load_of(const InferenceSpec& inference, const InferenceStep& step, double share) {
  const LoadSpec& spec = inference.load;
  const auto part = [share](double all) { return std::max<std::int64_t>(1, std::llround(share * all)); };
  const double requests = static_cast<double>(spec.requests);
  if (spec.arrivals == Arrivals::trace) return load_of(spec.trace, spec.requests > 0 ? part(requests) : 0, share);
  const double at_once = static_cast<double>(inference.batch) * step.layout.data;
  const double clients = spec.clients > 0 ? static_cast<double>(spec.clients) : at_once;
  LoadRecipe recipe;
  recipe.arrivals = spec.arrivals;
  recipe.rate = share * spec.rate;
  recipe.clients = part(clients);
  // By default ten times the requests that are active at once. `most_requests` bounds the time of the simulation.
  const std::int64_t counted = part(spec.requests > 0 ? requests : 10 * clients);
  recipe.requests = std::min(counted + warmup_of(spec, recipe.clients), most_requests);
  recipe.input = step.input;
  recipe.output = step.output;
  recipe.spread = spec.spread;
  recipe.cached = spec.cached;
  recipe.seed = static_cast<std::uint64_t>(spec.seed);
  return sampled_load(recipe);
}

WaitTimes waits_of(std::vector<Seconds> times) {
  WaitTimes w;
  if (times.empty()) return w;
  std::sort(times.begin(), times.end());
  for (const Seconds t : times) w.mean += t / static_cast<double>(times.size());
  // Nearest rank, without interpolation: each percentile is the time of a request.
  const auto at = [&](double part) {
    return times[static_cast<std::size_t>(std::floor(part * static_cast<double>(times.size() - 1) + 0.5))];
  };
  w.p50 = at(0.5);
  w.p90 = at(0.9);
  w.p99 = at(0.99);
  return w;
}

/// Whether the queue still grows when the last requests arrive, so that waits depend on how many requests there are: the
/// last quarter waits more than twice as long as the second, and longer than a request then takes (`rest`).
/// \param waits  in the order of arrival
bool queue_grows(const std::vector<Seconds>& waits, Seconds rest) {
  constexpr std::size_t fewest = 4;
  const auto quarter = static_cast<std::ptrdiff_t>(waits.size() / 4);
  if (waits.size() / 4 < fewest) return false;
  const auto mean = [&](auto begin) {
    return std::accumulate(begin, begin + quarter, Seconds{}) / static_cast<double>(quarter);
  };
  const Seconds last = mean(waits.end() - quarter);
  return last > 2 * mean(waits.begin() + quarter) && last > rest;
}

/// \param warmup  requests at the start that count for rates, but not for waiting times
/// \param share   fraction of all replicas that was simulated
Serving summary_of(const Served& served, std::int64_t warmup, double share) {
  std::vector<Seconds> first, between, whole;
  double tokens = 0;
  const std::size_t skipped = std::min(static_cast<std::size_t>(warmup), served.requests.size() - 1);
  for (std::size_t i = 0; i < served.requests.size(); ++i) {
    const ServedRequest& r = served.requests[i];
    tokens += static_cast<double>(r.output);
    if (i < skipped) continue;
    first.push_back(r.wait());
    whole.push_back(r.end - r.arrival);
    // A request with a single token has no gap between tokens.
    if (r.output > 1) between.push_back(r.between());
  }
  Serving s;
  const std::vector<Seconds> waits = first;
  s.first_token = waits_of(std::move(first));
  s.inter_token = waits_of(std::move(between));
  s.request = waits_of(std::move(whole));
  s.inter_token_worst = served.longest_gap;
  s.inter_token_median = served.median_gap;
  s.requests = static_cast<std::int64_t>(served.requests.size());
  s.sequences = served.sequences;
  // All requests over the whole time, including ramp-up and the drain at the end, as benchmark clients print it.
  s.tokens_per_second = tokens / served.time.value / share;
  s.requests_per_second = static_cast<double>(s.requests) / served.time.value / share;
  s.queue_grows = queue_grows(waits, s.request.mean - s.first_token.mean);
  return s;
}

}  // namespace

// The pool is the smallest set of replicas that behaves as the job does: one replica, or those that share experts.
Serving serve_together(const World& world, const InferenceStep& step, const ServingSample& sample) {
  const InferenceSpec& spec = world.scenario().workload.inference;
  PassClock clock(sample, step);
  const ServingPool pool = pool_of(spec, step, together(step), cache_tokens(step, world.scenario().node.spec), clock);
  const double share = static_cast<double>(pool.replicas) / step.layout.data;
  const ServingLoad load = load_of(spec, step, share);
  const Frontend frontend = frontend_of(step.stack, {}, load_per_token(world, step));
  return summary_of(serve(load, frontend, pool), warmup_of(spec.load, load.clients), share);
}

Serving serve_apart(const World& world, const InferenceStep& prompts, const CacheTransfer& transfer,
                    const InferenceStep& decoding, double slower, const ServingSample& sample) {
  const InferenceSpec& spec = world.scenario().workload.inference;
  PassClock prompt_clock(sample, prompts), decode_clock(sample, decoding);
  const ServingPool first = pool_of(spec, prompts, prompts.layout.data, 0, prompt_clock);
  ServingPool then =
      pool_of(spec, decoding, decoding.layout.data, cache_tokens(decoding, world.scenario().node.spec), decode_clock);
  // Transfers slow decode steps down on average by the same factor. Which steps a transfer overlaps with is not
  // simulated.
  then.time = [alone = then.time, slower](std::span<const InferencePass> passes) { return slower * alone(passes); };
  const Frontend frontend =
      frontend_of(decoding.stack, decoding.stack.transfer_fixed.us(), load_per_token(world, prompts));
  const ServingLoad load = load_of(spec, decoding, 1);
  return summary_of(serve_apart(load, frontend, first, transfer, then), warmup_of(spec.load, load.clients), 1);
}

}  // namespace fabricast
