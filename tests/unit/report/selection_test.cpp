// NCCL's choice compared with the fastest, and advice.
#include <catch2/catch.hpp>

#include <cmath>
#include <map>
#include <set>

#include "fabricast/report/report.hpp"
#include "support/worlds.hpp"

namespace {

using namespace fabricast;
using test::world_of;

const std::string cluster =
    "node: {profile: hgx-h100}\ncluster: {nodes: 4}\n"
    "workload: {sizes: [64B, 256KiB, 256KiB, 64MiB, 8GiB]}\n";

const std::string collisions =
    "node: {profile: hgx-h100-roce}\ncluster: {nodes: 32}\nfabric: {kind: fat_tree, switch: {ports: 32}}\n"
    "routing: {kind: ecmp, seeds: 4}\nworkload: {sizes: [64KiB, 64MiB, 4GiB]}\n";

std::vector<Seconds> times(const Forecast& f) {
  std::vector<Seconds> list;
  for (const ForecastRow& row : f.rows) list.push_back(row.time);
  return list;
}

/// Times of the scenario with one forced algorithm and protocol, by size.
std::vector<Seconds> forced(Algorithm a, Protocol p) {
  return times(run_forecast(world_of(
      cluster, {"nccl.env.NCCL_ALGO=" + std::string(name_of(a)), "nccl.env.NCCL_PROTO=" + std::string(name_of(p))})));
}

}  // namespace

TEST_CASE("selection best is the fastest of all algorithms and protocols when forced", "[selection]") {
  const auto world = world_of(cluster);
  const Forecast nccl = run_forecast(world), best = run_forecast(world_of(cluster, {"nccl.selection=best"}));
  REQUIRE(best.rows.size() == 5);
  std::vector<Seconds> least(5, Seconds{1e9});
  std::map<std::pair<Algorithm, Protocol>, std::vector<Seconds>> all;
  for (const Candidate& c : nccl.rows[0].plan.candidates)
    if (is_simulated(world.planner().comm, CollectiveOp::all_reduce, c.algorithm, c.protocol)) {
      auto& list = all[{c.algorithm, c.protocol}] = forced(c.algorithm, c.protocol);
      for (std::size_t i = 0; i < 5; ++i) least[i] = std::min(least[i], list[i]);
    }
  CHECK(all.size() >= 6);  // rings and trees with three protocols
  int changed = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const ForecastRow& row = best.rows[i];
    CAPTURE(row.bytes);
    CHECK(row.time.value == Approx(least[i].value).epsilon(1e-12));
    CHECK(row.time.value == Approx(all.at({row.algorithm, row.protocol})[i].value).epsilon(1e-12));
    const ForecastRow& own = nccl.rows[i];
    const bool same = row.algorithm == own.algorithm && row.protocol == own.protocol;
    if (own.plan.stands_in || same) continue;
    ++changed;
    REQUIRE(row.nccl);
    CHECK(row.nccl->algorithm == own.algorithm);
    CHECK(row.nccl->protocol == own.protocol);
    CHECK(row.nccl->time == own.time);
  }
  CHECK(changed > 0);
  CHECK(best.rows[1].time == best.rows[2].time);  // the size that is listed twice
}

TEST_CASE("the cost of NCCL's choice does not depend on the selection that runs", "[selection]") {
  for (const char* selection : {"nccl.selection=nccl", "nccl.selection=best"}) {
    const auto world = world_of(cluster, {selection, "workload.sizes=[256KiB]"});
    const Forecast forecast = run_forecast(world), weighed = run_candidates(forecast);
    const auto selected = compare_selections(forecast.rows[0], weighed);
    REQUIRE(selected);
    const std::vector<Seconds> tree_ll = forced(Algorithm::tree, Protocol::ll);
    CHECK(selected->nccl.time.value == Approx(run_forecast(world_of(cluster)).rows[1].time.value));
    CHECK(selected->best.time <= tree_ll[1]);
    CHECK(selected->cost().value == Approx((selected->nccl.time - selected->best.time).value));
  }
}

TEST_CASE("advice gains what it states, in the stated order", "[advice]") {
  for (const std::string& text : {collisions, cluster}) {
    const auto world = world_of(text);
    const Advice advice = advise(world);
    CAPTURE(text);
    std::vector<Seconds> now = times(run_forecast(world));
    CHECK(times(advice.before) == now);
    std::vector<std::string> words;
    double left = 1;
    std::set<std::string> variables;
    for (const Advised& a : advice.taken) {
      CHECK(a.before == now);
      words.insert(words.end(), a.change.set.begin(), a.change.set.end());
      now = times(run_forecast(world_of(text, words)));
      CHECK(a.change.times == now);
      double log_sum = 0;
      for (std::size_t i = 0; i < now.size(); ++i) log_sum += std::log(now[i] / a.before[i]);
      CHECK(a.change.gain == Approx(1 - std::exp(log_sum / static_cast<double>(now.size()))));
      CHECK(a.change.gain >= least_gain);
      left *= 1 - a.change.gain;
      for (const Variable& v : a.variables) CHECK(variables.insert(v.name).second);
    }
    CHECK(advice.after == now);
    CHECK(advice.gain == Approx(1 - left).margin(1e-12));
    for (const Advised& a : advice.mixed) {
      CHECK(a.change.gain < least_gain);
      bool helps = false;
      for (std::size_t i = 0; i < now.size(); ++i) helps |= a.change.times[i] < a.before[i] * (1 - least_gain);
      CHECK(helps);
    }
    if (text == collisions) CHECK(variables.contains("NCCL_IB_QPS_PER_CONNECTION"));
  }
}

TEST_CASE("advice undoes bad variables, and sets nothing but variables", "[advice]") {
  const auto advised = [](const std::string& rest) {
    const Advice advice =
        advise(world_of("node: {profile: hgx-h100}\ncluster: {nodes: 16}\nfaults: [{link: leaf0, rate: "
                        "50%}]\n" +
                        rest));
    std::set<std::string> variables;
    for (const Advised& a : advice.taken) {
      for (const std::string& word : a.change.set) CHECK(word.starts_with("nccl.env"));
      for (const Variable& v : a.variables) variables.insert(v.name);
    }
    return std::pair(variables, advice.gain);
  };
  const auto [ring, ring_gain] = advised("nccl: {env: {NCCL_ALGO: Ring}}\nworkload: {sizes: [64KiB, 16MiB]}\n");
  CHECK(ring.contains("NCCL_ALGO"));
  CHECK(ring_gain > 0.3);
  const auto [slots, slots_gain] =
      advised("nccl: {env: {NCCL_BUFFSIZE: \"65536\"}}\nworkload: {collective: all_gather, sizes: [1GiB, 4GiB]}\n");
  CHECK(slots.contains("NCCL_BUFFSIZE"));
}

TEST_CASE("a size that is listed twice counts twice", "[advice]") {
  // Large sizes gain from queue pairs and small ones do not: the more small sizes, the lower the mean.
  const auto first_gain = [](const std::string& sizes) {
    const Advice advice = advise(world_of(collisions, {"workload.sizes=" + sizes}));
    return advice.taken.empty() ? 0.0 : advice.gain;
  };
  const double once = first_gain("[1KiB, 4GiB]"), large = first_gain("[4GiB]");
  CHECK(once == Approx(1 - std::sqrt(1 - large)).margin(0.02));
  CHECK(first_gain("[1KiB, 4GiB, 4GiB, 4GiB]") > once);
}
