// Samples the requests of a load: lengths and arrival times. Length and arrival come from one generator in the order of
// requests, so that a longer load begins with the same requests.
#include "fabricast/workload/serving_load.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

std::int64_t sampled_length(std::int64_t mean, double spread, Rng& rng) {
  const double length = static_cast<double>(mean) * (1 + spread * rng.uniform(-1, 1));
  return std::max<std::int64_t>(1, std::llround(length));
}

}  // namespace

ServingLoad sampled_load(const LoadRecipe& recipe) {
  Rng rng(recipe.seed);
  ServingLoad load;
  if (recipe.arrivals == Arrivals::closed) load.clients = recipe.clients;
  double now = 0;
  for (std::int64_t i = 0; i < recipe.requests; ++i) {
    ServingRequest r;
    r.input = sampled_length(recipe.input, recipe.spread, rng);
    r.output = sampled_length(recipe.output, recipe.spread, rng);
    // The last token of a prompt is always computed, because it yields the first output token.
    r.cached = std::min<std::int64_t>(r.input - 1, std::llround(recipe.cached * static_cast<double>(r.input)));
    if (recipe.arrivals == Arrivals::poisson) {
      // Exponential gaps between arrivals, by inversion.
      now -= std::log(1 - rng.uniform()) / recipe.rate;
      r.arrival = Seconds{now};
    }
    load.requests.push_back(r);
  }
  return load;
}

}  // namespace fabricast
