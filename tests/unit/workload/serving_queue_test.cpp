// Requests that wait: compared with queueing theory and sums by hand, which know nothing of the simulation.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "fabricast/core/rng.hpp"
#include "fabricast/workload/serving_load.hpp"

namespace fabricast {
namespace {

/// Passes take `prompt` s with prompts, `decode` s without.
ServingPool pool_of(double prompt, double decode, int sequences = 1) {
  ServingPool pool;
  pool.sequences = sequences;
  pool.tokens = 1 << 20;
  pool.time = [=](std::span<const InferencePass> passes) {
    for (const InferencePass& p : passes)
      if (p.prompts > 0) return Seconds{prompt};
    return Seconds{decode};
  };
  return pool;
}

ServingLoad at_once(std::int64_t requests, std::int64_t input, std::int64_t output) {
  ServingLoad load;
  load.requests.assign(static_cast<std::size_t>(requests), {{}, input, output, 0});
  return load;
}

double mean_wait(const Served& served) {
  double sum = 0;
  for (const ServedRequest& r : served.requests) sum += r.wait().value;
  return sum / static_cast<double>(served.requests.size());
}

TEST_CASE("waits for prompts of one token follow Pollaczek-Khinchine", "[queue]") {
  // One place, one token of output: a server of constant time with Poisson arrivals (M/D/1).
  LoadRecipe recipe;
  recipe.arrivals = Arrivals::poisson;
  recipe.requests = 200'000;
  ServingPool pool = pool_of(0.1, 1);
  pool.tokens = 1;
  for (const double busy : {0.3, 0.6, 0.8}) {
    CAPTURE(busy);
    recipe.rate = busy / 0.1;
    const double wait = mean_wait(serve(sampled_load(recipe), {}, pool));
    CHECK(wait == Approx(0.1 + busy * 0.1 / (2 * (1 - busy))).epsilon(0.03));
  }
}

TEST_CASE("clients in a closed loop obey Little's law", "[queue]") {
  Rng rng(7);
  for (int trial = 0; trial < 20; ++trial) {
    LoadRecipe recipe;
    recipe.clients = 1 + static_cast<std::int64_t>(rng.uniform(0, 30));
    recipe.requests = 400 * recipe.clients;
    recipe.input = 100;
    recipe.output = 1 + static_cast<std::int64_t>(rng.uniform(0, 50));
    recipe.spread = rng.uniform(0, 1);
    recipe.seed = static_cast<std::uint64_t>(trial);
    ServingPool pool = pool_of(0.05, 0.01, 1 + static_cast<int>(rng.uniform(0, 40)));
    pool.prompts.mixed = trial % 2 == 0;
    const Served served = serve(sampled_load(recipe), {}, pool);
    double in_system = 0;
    for (const ServedRequest& r : served.requests) in_system += (r.end - r.arrival).value;
    CAPTURE(trial, recipe.clients, recipe.output, pool.sequences);
    // But for the end, when clients have nothing more to ask.
    CHECK(in_system / served.time.value == Approx(static_cast<double>(recipe.clients)).epsilon(0.02));
  }
}

TEST_CASE("simultaneous requests are served in order, within the limits of slots and passes", "[queue]") {
  // Ten prompts of 100 tokens, 250 tokens to a pass: two go into each.
  ServingPool pool = pool_of(1, 0.25, 10);
  pool.tokens = 250;
  const Served served = serve(at_once(10, 100, 5), {}, pool);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(served.requests[i].first_token.value == Approx(1.0 + static_cast<double>(i / 2)));
    // Prompts come first: all are decoded together afterwards.
    CHECK(served.requests[i].end.value == Approx(5 + 4 * 0.25));
  }
  CHECK(served.longest_gap.value == Approx(4 + 0.25));
  CHECK(served.time.value == Approx(6));

  // Mixed: those that have a token get another in each pass. Cut: 2.5 prompts to a pass.
  pool.prompts.mixed = true;
  CHECK(serve(at_once(10, 100, 5), {}, pool).requests[0].end.value == Approx(5));
  pool.prompts.mixed = false;
  pool.prompts.chunked = true;
  CHECK(serve(at_once(10, 100, 5), {}, pool).requests[9].first_token.value == Approx(4));
}

TEST_CASE("no more requests are admitted than the cache holds", "[queue]") {
  ServingPool pool = pool_of(1, 1, 100);
  pool.cache = 350;
  // Of 110 tokens each three fit: four rounds of a pass with three prompts and nine steps.
  const Served served = serve(at_once(12, 100, 10), {}, pool);
  CHECK(served.time.value == Approx(4 * 10));
  CHECK(served.requests[2].wait().value == Approx(1));
  CHECK(served.requests[3].wait().value == Approx(11));
  // Room for none of the output: 350 tokens hold three prompts still, 440 four.
  pool.reserved = 0;
  pool.cache = 400;
  CHECK(serve(at_once(12, 100, 10), {}, pool).requests[3].wait().value == Approx(1));
  // One is admitted whatever it takes.
  pool.cache = 50;
  CHECK(serve(at_once(3, 100, 10), {}, pool).time.value == Approx(3 * 10));
}

TEST_CASE("prompts wait for others as long as the policy states", "[queue]") {
  // A request is decoded; another comes 0.5 s later, while steps take 1 s.
  ServingLoad load;
  load.requests = {{0, 100, 50, 0}, {1.5, 100, 50, 0}};
  ServingPool pool = pool_of(1, 1, 10);
  CHECK(serve(load, {}, pool).requests[1].first_token.value == Approx(3));
  pool.prompts.wait = 7;
  pool.prompts.fill = 0.9;
  CHECK(serve(load, {}, pool).requests[1].first_token.value == Approx(10));
  pool.tokens = 110;  // which it fills
  CHECK(serve(load, {}, pool).requests[1].first_token.value == Approx(3));

  // Looked for at 0, with the first request, and again when five steps have gone, at 6.
  pool.prompts = {};
  pool.prompts.receive = 5;
  load.requests[1].arrival = Seconds{2.5};
  CHECK(serve(load, {}, pool).requests[1].first_token.value == Approx(7));
}

TEST_CASE("a host that plans ahead lets a request join the pass after the next", "[queue]") {
  // A sequence without end takes a step each second. A prompt takes 3 s, decoding included.
  ServingPool pool = pool_of(3, 1, 10);
  pool.prompts.mixed = true;
  const auto wait_at = [&](double arrival, bool ahead) {
    ServingLoad load = at_once(2, 1, 1);
    load.requests[0].output = 1000;
    load.requests[1].arrival = Seconds{arrival};
    pool.prompts.ahead = ahead;
    return serve(load, {}, pool).requests[1].wait().value;
  };
  // Steps begin at 3, 4, 5, ... The one of 11 s is planned at 10 s.
  CHECK(wait_at(10.25, false) == Approx(0.75 + 3));
  CHECK(wait_at(10.25, true) == Approx(1.75 + 3));
  CHECK(wait_at(10, true) == Approx(1 + 3));
  CHECK(wait_at(10, false) == Approx(3));
  // An idle engine plans nothing.
  CHECK(wait_at(2000, true) == Approx(3));
  // On average half of a step passes until the next one, and a whole one in addition.
  for (const bool ahead : {false, true}) {
    LoadRecipe recipe;
    recipe.arrivals = Arrivals::poisson;
    recipe.requests = 400;
    recipe.rate = 1e-3;
    ServingLoad load = sampled_load(recipe);
    for (ServingRequest& r : load.requests) r.output = 1;
    load.requests.front().output = 1'000'000;
    pool.prompts.ahead = ahead;
    CHECK(mean_wait(serve(load, {}, pool)) == Approx(3 + 0.5 + (ahead ? 1 : 0)).epsilon(0.02));
  }
}

TEST_CASE("clients that send equal requests wait for one prompt, or for two if the host plans ahead", "[queue]") {
  // Four clients, one prompt to a pass: requests end one pass after the other, so all prompts but the first follow
  // another one without a gap.
  constexpr double prompt = 1, step = 0.25;
  ServingPool pool = pool_of(prompt, step, 4);
  pool.prompts.mixed = true;
  pool.tokens = 104;
  ServingLoad load = at_once(40, 100, 50);
  load.clients = 4;
  for (const bool ahead : {false, true}) {
    pool.prompts.ahead = ahead;
    const Served served = serve(load, {}, pool);
    for (std::size_t i = 0; i < served.requests.size(); ++i) {
      CAPTURE(ahead, i);
      const double of_first_round = static_cast<double>(i + 1) * prompt;
      const double later = !ahead ? prompt : i % 4 == 0 ? step + prompt : 2 * prompt;
      CHECK(served.requests[i].wait().value == Approx(i < 4 ? of_first_round : later));
    }
  }
}

TEST_CASE("engines that only process prompts do not plan ahead", "[queue]") {
  LoadRecipe recipe;
  recipe.arrivals = Arrivals::poisson;
  recipe.requests = 1000;
  recipe.rate = 5;
  const ServingLoad load = sampled_load(recipe);
  ServingPool prompts = pool_of(0.1, 1), decoding = pool_of(1, 0.01, 100);
  prompts.tokens = 1;
  const Served one = serve_apart(load, {}, prompts, {}, decoding);
  prompts.prompts.ahead = true;
  const Served other = serve_apart(load, {}, prompts, {}, decoding);
  for (std::size_t i = 0; i < load.requests.size(); ++i)
    CHECK(one.requests[i].first_token == other.requests[i].first_token);
}

TEST_CASE("replicas that start together wait for the prompts of one", "[queue]") {
  ServingPool pool = pool_of(5, 1, 10);
  pool.replicas = pool.together = 2;
  // The second request goes to the other replica; the third makes both wait.
  ServingLoad load;
  load.requests = {{0, 10, 3, 0}, {0, 10, 20, 0}, {7.5, 10, 2, 0}};
  const Served served = serve(load, {}, pool);
  CHECK(served.requests[0].end.value == Approx(7));
  CHECK(served.requests[2].first_token.value == Approx(13));
  CHECK(served.requests[1].end.value == Approx(5 + 19 + 5));
  CHECK(served.longest_gap.value == Approx(6));
}

TEST_CASE("frontends delay requests, simultaneous ones one after the other", "[queue]") {
  Frontend frontend;
  frontend.before = Seconds{0.2};
  frontend.after = Seconds{0.3};
  ServingPool pool = pool_of(1, 0.1, 10);
  CHECK(serve(at_once(1, 10, 1), frontend, pool).requests[0].wait().value == Approx(1.5));
  // The fourth is through after 4 s, when three prompts have begun one by one.
  frontend.serial = Seconds{1};
  CHECK(serve(at_once(4, 10, 1), frontend, pool).requests[3].wait().value == Approx(4 + 1 + 0.3));
}

TEST_CASE("accepted guesses shorten decoding proportionally", "[queue]") {
  ServingPool pool = pool_of(1, 1, 4);
  pool.tokens_per_step = 2.5;
  pool.width = 4;
  // 100 tokens after the first: 40 steps.
  CHECK(serve(at_once(1, 10, 101), {}, pool).requests[0].end.value == Approx(1 + 40));
  Speculation s{3, 0.5, 1};
  CHECK(s.tokens_per_step() == Approx(1 + 0.5 + 0.25 + 0.125));
  s.acceptance = 1;
  CHECK(s.tokens_per_step() == Approx(4));
}

TEST_CASE("disaggregated prefill transfers one cache after the other", "[queue]") {
  const ServingPool prompts = pool_of(1, 1, 10);
  ServingPool decoding = pool_of(1, 0.5, 2);
  // Four prompts in one pass; caches take 2 s each, of which the pass hides but half a second.
  const Served served = serve_apart(at_once(4, 10, 3), {}, prompts, {2, 0.5}, decoding);
  CHECK(served.requests[0].first_token.value == Approx(2));
  CHECK(served.requests[1].first_token.value == Approx(4));
  CHECK(served.requests[3].first_token.value == Approx(8));
  CHECK(served.requests[3].end.value == Approx(9));
}

TEST_CASE("all requests end, and no tokens are lost or added", "[queue]") {
  Rng rng(3);
  for (int trial = 0; trial < 50; ++trial) {
    LoadRecipe recipe;
    recipe.arrivals = trial % 3 == 0 ? Arrivals::poisson : Arrivals::closed;
    recipe.rate = 5;
    recipe.clients = 20;
    recipe.requests = 200;
    recipe.input = 300;
    recipe.output = 40;
    recipe.spread = 0.9;
    recipe.cached = rng.uniform(0, 0.9);
    recipe.seed = static_cast<std::uint64_t>(trial);
    ServingPool pool = pool_of(0.05, 0.01, 1 + static_cast<int>(rng.uniform(0, 30)));
    pool.replicas = 4;
    pool.together = trial % 2 == 0 ? 1 : 2;
    pool.tokens = 50 + static_cast<std::int64_t>(rng.uniform(0, 1000));
    pool.cache = trial % 5 == 0 ? 0 : 500 + static_cast<std::int64_t>(rng.uniform(0, 5000));
    pool.prompts.mixed = trial % 4 < 2;
    pool.prompts.chunked = trial % 8 < 4;
    pool.prompts.wait = trial % 7;
    pool.prompts.fill = 0.5;
    pool.prompts.receive = 1 + trial % 3;
    std::int64_t decoded = 0, computed = 0;
    // Steps of decoding that are skipped over are as many passes of one kind.
    pool.time = [&, inner = pool.time](std::span<const InferencePass> passes) { return inner(passes); };
    const ServingLoad load = sampled_load(recipe);
    const Served served = serve(load, {}, pool);
    CAPTURE(trial);
    for (std::size_t i = 0; i < served.requests.size(); ++i) {
      const ServedRequest& r = served.requests[i];
      CHECK(r.first_token > r.arrival);
      CHECK(r.end >= r.first_token);
      // A step is no shorter than 10 ms, and gives a token.
      CHECK((r.end - r.first_token).value >= 0.01 * static_cast<double>(load.requests[i].output - 1) - 1e-9);
      decoded += load.requests[i].output - 1;
      computed += load.requests[i].input - load.requests[i].cached;
    }
    // All places at work all the time would take at least so long.
    const double places = 4.0 * pool.sequences;
    CHECK(served.time.value >= 0.01 * static_cast<double>(decoded) / places);
    CHECK(served.time.value >= 0.05 * static_cast<double>(computed) / static_cast<double>(4 * pool.tokens));
    CHECK(served.sequences <= pool.sequences);
    CHECK(serve(load, {}, pool).time.value == served.time.value);
  }
}

}  // namespace
}  // namespace fabricast
